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
"$program" user create --email ana@example.org --name "Ana Reyes" --account "$root" --role owner >/dev/null
"$program" account settings "$root" --address $'River Aid\n1 Pier Road\nOakland, CA 94607' --tax-id 04-1234567 >/dev/null
"$program" account settings "$other" --currency EUR >/dev/null
echo '[{"title": "Spring Drive", "status": "draft", "payment_link": "https://pay.example.org/spring"}]' >"$work/draft.json"
"$program" campaign import --account "$root" "$work/draft.json" >/dev/null
"$program" account settings "$chapter" --timezone America/Chicago >/dev/null

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

campaign() { curl -sf -H "Authorization: Bearer $key" "$url/v1/campaigns" | python3 -c 'import json,sys; print([c["id"] for c in json.load(sys.stdin)["data"] if c["slug"]==sys.argv[1]][0])' "$1"; }
coats=$(campaign winter-coat-drive) gala=$(campaign gala)
send "$key" POST /v1/plans "{\"contact_id\":$amelia,\"campaign_id\":$coats,\"amount\":25,\"frequency\":\"monthly\",\"method\":\"card\",\"start_at\":\"2025-12-31\",\"external_id\":\"plan-1\"}"
plan=$(id)
send "$key" POST /v1/plans '{"first_name":"Yuki","last_name":"Sato","email":"yuki@example.org","amount":5000,"currency":"JPY","frequency":"yearly","status":"paused","method":"direct_debit","start_at":"2024-02-29"}'
for month in 01 02 03; do
	send "$key" POST /v1/transactions "{\"contact_id\":$amelia,\"plan_id\":\"$plan\",\"amount\":25.75,\"fee\":1,\"fee_covered\":0.75,\"method\":\"card\",\"transacted_at\":\"2026-$month-28\"}"
done
send "$key" POST /v1/transactions "{\"contact_id\":$amelia,\"campaign_id\":$coats,\"amount\":100,\"method\":\"check\",\"check_number\":\"1077\",\"transacted_at\":\"2025-11-30T18:30:00+01:00\",\"external_id\":\"old-4711\",\"note\":\"Für Mäntel 🧥\",\"dedication\":{\"type\":\"in_memory_of\",\"name\":\"Grace Okafor\"}}"
gift=$(id)
send "$key" POST "/v1/transactions/$gift/refund" '{"amount":30.5}'
send "$key" PATCH "/v1/transactions/$gift" '{"check_deposited_at":"2025-12-03","communication_opt_in":true}'
send "$key" POST /v1/transactions "{\"first_name\":\"Marta\",\"last_name\":\"Gold\",\"email\":\"marta@example.org\",\"campaign_id\":$gala,\"amount\":250,\"method\":\"bank_transfer\",\"transacted_at\":\"2026-02-14\"}" # in EUR
send "$key" POST /v1/transactions '{"first_name":"Yuki","last_name":"Sato","email":"yuki@example.org","amount":5000,"currency":"JPY","method":"paypal","transacted_at":"2026-02-15"}'
send "$key" POST /v1/transactions "{\"contact_id\":$amelia,\"campaign_id\":$coats,\"amount\":500,\"method\":\"stock\",\"status\":\"pending\",\"transacted_at\":\"2026-03-01\"}"
send "$key" POST /v1/transactions '{"first_name":"Person 4","last_name":"Lake","email":"p4@example.org","amount":12,"method":"cash","transacted_at":"2026-03-02"}'
send "$key" POST "/v1/transactions/$(id)/refund"
send "$north" POST /v1/transactions '{"first_name":"Nora","last_name":"North","email":"p1@example.org","amount":40,"method":"venmo","transacted_at":"2026-03-03"}'
cat >"$work/people.csv" <<CSV
First Name,Last Name,Email,City,Zip,Tags,Circle,Volunteer,Member since,Remarks
Ida,Berg,ida@example.org,Oslo,0150,"board, many",Friends,yes,2019-05-01,Sings
Olu,Cole,olu@example.org,BOSTON,02110-1234,,Friends of the river,no,2020-01-31,
Person 2,Lake,p2@example.org,São Paulo,01310-100,gala,friends,yes,,Speaks Portuguese
,,nobody,,,,,,,
CSV
"$program" contact import --account "$root" --map "Circle=new:text,Volunteer=new:boolean,Member since=new:date,Remarks=new:long_text" "$work/people.csv" >/dev/null || true # one row is rejected
send "$key" PATCH "/v1/contacts/$amelia" '{"custom_fields":{"field_1":"Patrons","field_2":true}}'
send "$key" POST "/v1/contacts/$amelia/activities" '{"note":"Called about the gala","occurred_at":"2026-03-04"}'
"$program" contact erase --account "$root" --yes "$((amelia + 12))" >/dev/null

merged=0
for pair in "1 2" "4 6" "6 8" "10 12"; do # 4, 6 and 8 are merged in a row, and the last merge is undone
	set -- $pair
	send "$key" POST "/v1/contacts/$((amelia + 1 + $2))/merge" "{\"contact_id\":$((amelia + 1 + $1))}"
	merged=$(curl -sf -H "Authorization: Bearer $key" "$url/v1/merges?per_page=100" | python3 -c 'import json,sys; print(json.load(sys.stdin)["data"][-1]["id"])')
done
send "$key" POST "/v1/merges/$merged/undo"

# What the program answers, asked as any client would.
python3 - "$url" "$version" "$here/schema$version.json.gz" "$key" "$reader" "$north" "$revoked" "$amelia" <<'PY'
import gzip, json, sys, urllib.error, urllib.request
url, version, out, key, reader, north, revoked, amelia = sys.argv[1:]
def get(key, path):
    request = urllib.request.Request(url + path, headers={"Authorization": "Bearer " + key})
    try:
        with urllib.request.urlopen(request) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
campaigns = {c["slug"]: c["id"] for c in json.loads(get(key, "/v1/campaigns")[1])["data"]}
asked = [(key, "/v1/contacts?scope=%s&per_page=%d&page=%d" % (scope, size, page))
         for scope in ("active", "all", "archived") for size, page in ((100, 1), (7, 1), (7, 3), (7, 5))]
asked += [(key, "/v1/campaigns?scope=" + scope) for scope in ("", "benefiting", "chapters", "all")]
asked += [(k, "/v1/contacts/" + amelia) for k in (key, reader, north, revoked)]
asked += [(north, "/v1/contacts"), (north, "/v1/campaigns"), (reader, "/v1/campaigns")]
asked += [(k, path) for path in ("/v1/transactions", "/v1/plans") for k in (key, north, reader)]
asked += [(key, "/v1/transactions?" + query) for query in ("scope=all", "scope=chapters", "per_page=3&page=2", "contact_id=" + amelia, "status=pending",
          "method=card", "external_id=old-4711", "transacted_after=2026-02-01&transacted_before=2026-03-01")]
asked += [(key, path + "/" + row["id"]) for path in ("/v1/transactions", "/v1/plans") for row in json.loads(get(key, path)[1])["data"]]
asked += [(key, "/v1/custom-fields"), (key, "/v1/contacts/%s/activities" % amelia)]
asked += [(key, "/v1/contacts?" + query) for query in ("city=boston", "city=s%C3%A3o+paulo", "zip=0", "zip=021", "zip=02110", "field_1=friends", "field_1=*", "field_2=true",
          "field_3=2019-05-01", "campaign_id=%d" % campaigns["winter-coat-drive"], "gave_after=2026-02-01", "total_contributions_min=100", "has=phone&city=boston", "q=berg", "first_name=ida", "sort=-last_gift")]
asked += [(key, "/v1/contacts/%d/activities" % (int(amelia) + n)) for n in (3, 9, 13)] + [(key, "/v1/contacts?sort=-updated_at")]
answers = []
for k, path in asked:
    status, body = get(k, path)
    answers.append({"key": k, "path": path, "status": status, "body": body})
with gzip.GzipFile(out, "wb", mtime=0) as f:
    f.write(json.dumps(answers, indent=1, ensure_ascii=False).encode())
PY
kill "$server" && wait "$server" || true
server=
"$program" copy --from "sqlite:$DONORBOOK_DATA" --to "$postgres" >/dev/null
pg_dump --inserts --no-owner --no-privileges --no-comments "$postgres" | grep -v -e '^--' -e '^\\' -e '^$' | gzip -9n >"$here/schema$version.sql.gz"
gzip -9nc "$DONORBOOK_DATA/donorbook.db" >"$here/schema$version.db.gz"
ls -l "$here/schema$version".*
