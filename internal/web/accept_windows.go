package web

import "net"

// acceptWaiting accepts nothing: a connection that comes in the moment when the port closes is reset.
func acceptWaiting(net.Listener) []net.Conn { return nil }
