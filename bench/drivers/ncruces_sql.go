//go:build ncruces_sql

package main

import _ "github.com/ncruces/go-sqlite3/driver"

const driverName = "sqlite3"
