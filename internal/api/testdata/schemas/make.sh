#!/usr/bin/env bash
# Makes the fixture of one schema: make.sh PROGRAM VERSION POSTGRES-URL
#
# PROGRAM is a donorbook built from the last commit of that schema, POSTGRES-URL an empty database. It writes, beside this file,
# schemaVERSION.db.gz (SQLite), schemaVERSION.sql.gz (PostgreSQL, the same rows) and schemaVERSION.json.gz (what the program answered).
set -euo pipefail
program=$(realpath "$1") version=$2 postgres=$3 here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
export DONORBOOK_DATA=$work/data

root=$("$program" account create --name "River Aid")
chapter=$("$program" account create --name "River Aid North" --parent "$root")
other=$("$program" account create --name "Hill Trust")
key=$("$program" key create --account "$root" --name Website)
reader=$("$program" key create --account "$root" --name Reader --permission contacts:read)
north=$("$program" key create --account "$chapter" --name North)
revoked=$("$program" key create --account "$root" --name Old)
"$program" key revoke "$("$program" key list --account "$root" --json | python3 -c 'import json,sys; print([k["id"] for k in json.load(sys.stdin) if k["name"]=="Old"][0])')" >/dev/null
cat >"$work/campaigns.json" <<JSON
[{"title": "Winter Coat Drive", "goal": 18000, "raised": 4250.5, "donors": 31, "description": "<p>Warm <b>coats</b></p>", "beneficiaries": ["$other"]},
 {"title": "Gala", "type": "event", "currency": "EUR", "cover": {"type": "image", "url": "https://example.org/gala.jpg", "source": "upload"},
  "event": {"title": "Gala", "type": "in_person", "location_name": "Town hall", "start_at": "2027-05-01 18:00:00", "timezone": "Europe/Berlin"}}]
JSON
"$program" campaign import --account "$root" "$work/campaigns.json" >/dev/null
echo '[{"title": "Library of the North"}]' >"$work/north.json"
"$program" campaign import --account "$chapter" "$work/north.json" >/dev/null
if [ "$version" -ge 2 ]; then
	"$program" user create --email ana@example.org --name "Ana Reyes" --account "$root" --role owner >/dev/null
fi

port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
"$program" serve --tls off --listen "127.0.0.1:$port" --base-url https://donors.example.org --rate-limit 0 --log-level error >/dev/null &
server=$!
url=http://127.0.0.1:$port
until curl -sf "$url/readyz" >/dev/null; do sleep 0.1; done
send() { # KEY METHOD PATH [BODY]
	curl -sf -X "$2" -H "Authorization: Bearer $1" -H 'Content-Type: application/json' "$url$3" ${4:+-d "$4"} -o "$work/answer"
}
id() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["id"])' "$work/answer"; }
send "$key" POST /v1/contacts '{"first_name":"Amelia","middle_name":"J","last_name":"Okafor","dob":"3/9/1984","company":"Blue Heron Books","title":"Owner","twitter_url":"https://x.com/amelia","emails":[{"value":"Amelia@Example.org","type":"personal"},{"value":"work@example.org","type":"work"}],"phones":[{"value":"(617) 555-0100","type":"cell"}],"addresses":[{"address_1":"12 Harbor Street","city":"Boston","state":"MA","zipcode":"02110","country":"USA"},{"city":"Lagos","country":"NGA"}],"tags":["newsletter","VIP","Zürich"]}'
amelia=$(id)
send "$key" POST /v1/contacts '{"first_name":"Amelia","last_name":"Okafor-Reyes","phones":[{"value":"+1 617-555-0100"}],"tags":["gala"]}' # merged
send "$key" POST /v1/contacts '{"first_name":"Łukasz","last_name":"O’Brien-Müller","company":"Straße & Søn","tags":["VIP"]}'
for n in $(seq 1 30); do
	send "$key" POST /v1/contacts "{\"first_name\":\"Person $n\",\"last_name\":\"Lake\",\"emails\":[{\"value\":\"p$n@example.org\"}],\"phones\":[{\"value\":\"+1212555$((1000 + n))\"}],\"tags\":[\"many\",\"t$((n % 3))\"]}"
	person=$(id)
	case $n in
	3 | 9 | 27) send "$key" DELETE "/v1/contacts/$person" ;;
	5) send "$key" DELETE "/v1/contacts/$person" && send "$key" PATCH "/v1/contacts/$person/restore" ;;
	7) send "$key" PATCH "/v1/contacts/$person" '{"company":"Lake House","emails":[],"tags":["board"]}' ;;
	11) send "$key" POST "/v1/contacts/$person/tags/remove" '{"tags":["many"]}' ;;
	esac
done
send "$north" POST /v1/contacts '{"first_name":"Nora","last_name":"North","emails":[{"value":"p1@example.org"}]}'
send "$key" POST "/v1/contacts?force_create=true" '{"first_name":"Amelia","last_name":"Twin","emails":[{"value":"amelia@example.org"}]}'

# What the program answers, asked as any client would.
python3 - "$url" "$here/schema$version.json.gz" "$key" "$reader" "$north" "$revoked" "$amelia" <<'PY'
import gzip, json, sys, urllib.error, urllib.request
url, out, key, reader, north, revoked, amelia = sys.argv[1:]
asked = [(key, "/v1/contacts?scope=%s&per_page=%d&page=%d" % (scope, size, page))
         for scope in ("active", "all", "archived") for size, page in ((100, 1), (7, 1), (7, 3), (7, 5))]
asked += [(key, "/v1/campaigns?scope=" + scope) for scope in ("", "benefiting", "chapters", "all")]
asked += [(k, "/v1/contacts/" + amelia) for k in (key, reader, north, revoked)]
asked += [(north, "/v1/contacts"), (north, "/v1/campaigns"), (reader, "/v1/campaigns")]
answers = []
for k, path in asked:
    request = urllib.request.Request(url + path, headers={"Authorization": "Bearer " + k})
    try:
        with urllib.request.urlopen(request) as r:
            status, body = r.status, r.read()
    except urllib.error.HTTPError as e:
        status, body = e.code, e.read()
    answers.append({"key": k, "path": path, "status": status, "body": body.decode()})
with gzip.GzipFile(out, "wb", mtime=0) as f:
    f.write(json.dumps(answers, indent=1, ensure_ascii=False).encode())
PY
kill "$server" && wait "$server" || true
server=
"$program" copy --from "sqlite:$DONORBOOK_DATA" --to "$postgres" >/dev/null
pg_dump --inserts --no-owner --no-privileges --no-comments "$postgres" | grep -v -e '^--' -e '^\\' -e '^$' | gzip -9n >"$here/schema$version.sql.gz"
gzip -9nc "$DONORBOOK_DATA/donorbook.db" >"$here/schema$version.db.gz"
ls -l "$here/schema$version".*
