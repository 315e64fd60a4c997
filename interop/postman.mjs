// Runs each request of the Postman collection as it was generated. Ids alone are replaced: those of the examples belong to no one here.
import newman from 'newman'
import { readFileSync } from 'node:fs'

// Both functions run inside Postman. What an answer is about is remembered under the name of its list, such as contacts.
function replaceIDs() {
  const [, list] = pm.request.url.path
  pm.request.url.variables.each((variable) => { variable.value = String(pm.environment.get(list)) })
  pm.request.url.query.each((parameter) => { if (parameter.key === 'transaction_id') parameter.value = String(pm.environment.get('transactions')) })
  if (!pm.request.body?.raw) return
  const body = JSON.parse(pm.request.body.raw)
  for (const [field, list] of [['contact_id', 'contacts'], ['campaign_id', 'campaigns'], ['plan_id', 'plans']]) {
    if (field in body) body[field] = pm.environment.get(list) ?? null
  }
  if (pm.request.url.path[3] === 'merge') { // with another contact
    body.contact_id = Number(pm.environment.get('other'))
    body.fields = { company: body.contact_id }
  }
  pm.request.body.update(JSON.stringify(body))
}

function checkAnswer() {
  pm.test(`${pm.request.method} ${pm.request.url.getPath()}`, () => {
    pm.expect(pm.response.code, pm.response.text()).to.be.within(200, 299)
  })
  if (pm.request.method === 'DELETE' && pm.request.url.path[1] === 'campaigns') pm.environment.unset('campaigns') // a contact is only archived
  if (!pm.response.text() || ['activities', 'receipt'].includes(pm.request.url.path[3])) return // whose ids are of something else
  const merge = pm.response.headers.get('X-Merge-Id')
  if (merge) pm.environment.set('merges', merge)
  const answer = pm.response.json()
  const about = answer.data ? answer.data[0] : answer
  if (about) pm.environment.set(pm.request.url.path[1], about.id ?? about.occasion ?? about.name)
}

const script = (event, action) => ({ listen: event, script: { exec: [`(${action})()`] } })
const collection = JSON.parse(readFileSync('made/postman.json', 'utf8'))
collection.event = [script('prerequest', replaceIDs), script('test', checkAnswer)]

const { DONORBOOK_URL, DONORBOOK_KEY } = process.env
const made = await fetch(`${DONORBOOK_URL}/v1/contacts?force_create=true`, {
  method: 'POST',
  headers: { Authorization: `Bearer ${DONORBOOK_KEY}`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ first_name: 'Tom', last_name: 'Reed' }),
})
const other = (await made.json()).id
newman.run({
  collection,
  envVar: [{ key: 'baseUrl', value: DONORBOOK_URL }, { key: 'bearerToken', value: DONORBOOK_KEY }, { key: 'other', value: String(other) }],
}, (error, summary) => {
  if (error) throw error
  const { failures, stats } = summary.run
  for (const failure of failures) console.error(`${failure.source.name}: ${failure.error.message}`)
  if (failures.length > 0 || stats.assertions.total < 20) process.exit(1)
  console.log(`postman: ${stats.assertions.total} requests`)
})
