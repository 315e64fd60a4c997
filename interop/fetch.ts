// openapi-typescript makes the types, openapi-fetch sends the requests.
import assert from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { paths } from './made/donorbook.ts'

const { DONORBOOK_URL, DONORBOOK_KEY } = process.env
const client = createClient<paths>({ baseUrl: DONORBOOK_URL, headers: { Authorization: `Bearer ${DONORBOOK_KEY}` } })

const created = await client.POST('/v1/contacts', {
  body: { first_name: 'Amelia', last_name: 'Okafor', emails: [{ value: 'amelia@example.org' }], tags: ['newsletter'] },
})
assert(created.data, JSON.stringify(created.error))
const id = created.data.id

const changed = await client.PATCH('/v1/contacts/{id}', { params: { path: { id } }, body: { company: 'Blue Heron Books' } })
assert.equal(changed.data?.company, 'Blue Heron Books')

const gift = await client.POST('/v1/transactions', {
  body: { amount: 50, method: 'check', transacted_at: '2026-01-31', contact_id: created.data.id },
})
assert.equal(gift.data?.donated, 50)

const list = await client.GET('/v1/contacts', { params: { query: { scope: 'all', per_page: 100 } } })
assert.equal(list.data?.data.find((contact) => contact.id === created.data.id)?.stats.total_contributions, 50)

const refused = await client.POST('/v1/contacts', { body: { first_name: '', last_name: 'Okafor' } })
assert.equal(refused.response.status, 422)
assert.equal(refused.error?.message, 'The first_name field is required.')
