// Two ways to read a whole list: by links.next, as clients of Laravel do, and by the header Link, as got does.
import assert from 'node:assert/strict'
import got from 'got'

const { DONORBOOK_URL, DONORBOOK_KEY } = process.env
const headers = { Authorization: `Bearer ${DONORBOOK_KEY}` }
const first = `${DONORBOOK_URL}/v1/contacts?scope=all&per_page=2`

type Page = { data: { id: number }[]; links: { next: string | null }; meta: { current_page: number; last_page: number; total: number } }

for (const name of ['A', 'B', 'C', 'D', 'E']) {
  await got.post(`${DONORBOOK_URL}/v1/contacts`, { headers, json: { first_name: name, last_name: 'Reader' } })
}

const byLinks: number[] = []
let pages = 0
for (let next: string | null = first; next; ) {
  const page: Page = await got(next, { headers }).json()
  assert.equal(page.meta.current_page, ++pages)
  byLinks.push(...page.data.map((contact) => contact.id))
  if (!page.links.next) assert.deepEqual([page.meta.last_page, page.meta.total], [pages, byLinks.length])
  next = page.links.next
}

const byHeader: number[] = []
for await (const contact of got.paginate<{ id: number }>(first, {
  headers,
  pagination: { transform: (response) => (JSON.parse(response.body as string) as Page).data },
})) {
  byHeader.push(contact.id)
}
assert.deepEqual(byHeader, byLinks)
