// Hey API makes Zod schemas: every answer must pass those of its operation.
import assert from 'node:assert/strict'
import * as schemas from './made/zod/zod.gen.ts'

const { DONORBOOK_URL, DONORBOOK_KEY } = process.env

async function call(method: string, path: string, body?: object) {
  const response = await fetch(DONORBOOK_URL + path, {
    method,
    headers: { Authorization: `Bearer ${DONORBOOK_KEY}`, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  assert(response.ok, `${method} ${path}: ${response.status}`)
  return response.json()
}

const person = {
  first_name: 'Zoë', last_name: 'Ångström', dob: '3/9/1984', emails: [{ value: 'zoë@exämple.org', type: 'work' }],
  phones: [{ value: '(617) 555-0100', type: 'cell' }], twitter_url: 'https://twitter.com/zoë', addresses: [{ city: 'Boston', state: 'MA', country: 'USA' }],
}
schemas.zCreateContactBody.parse(person)
const contact = schemas.zCreateContactResponse.parse(await call('POST', '/v1/contacts', person))
schemas.zCreateTransactionResponse.parse(
  await call('POST', '/v1/transactions', { amount: 50, method: 'check', transacted_at: '2026-01-31', contact_id: Number(contact.id) }),
)
schemas.zCreatePlanResponse.parse(
  await call('POST', '/v1/plans', { amount: 25, frequency: 'monthly', method: 'card', start_at: '2026-01-31', contact_id: Number(contact.id) }),
)
schemas.zListContactsResponse.parse(await call('GET', '/v1/contacts?scope=all'))
schemas.zListCampaignsResponse.parse(await call('GET', '/v1/campaigns?scope=all'))
schemas.zListTransactionsResponse.parse(await call('GET', '/v1/transactions'))
schemas.zListPlansResponse.parse(await call('GET', '/v1/plans'))
