package steps

// step14SQL is the step that keeps pages and background work small. Once it is released, it stays as it is.
const step14SQL = `
-- Groups of duplicates are listed by how sure they are, page by page: each where its likeliest pair is, which is the first one of its person.
DROP INDEX duplicate_rank;

DROP INDEX duplicate_person;

CREATE INDEX duplicate_rank ON duplicate (account_id, state, level, probability DESC, a, b, person);

CREATE INDEX duplicate_group ON duplicate (account_id, state, person, probability DESC, a, b, level);
`
