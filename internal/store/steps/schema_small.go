package steps

// step14SQL is the step that keeps pages and background work small. Once it is released, it stays as it is.
const step14SQL = `
-- Groups of duplicates are listed by how sure they are, page by page.
CREATE INDEX duplicate_group ON duplicate (account_id, state, person, probability, level);
`
