package steps

// publicSQL is the step that brings what public pages say about an organization. Once it is released, it stays as it is.
const publicSQL = `
ALTER TABLE account_setting ADD COLUMN email TEXT NOT NULL DEFAULT '';

ALTER TABLE account_setting ADD COLUMN website TEXT NOT NULL DEFAULT '';

-- What public pages of campaigns tell of recent donors: nothing, names, or amounts as well.
ALTER TABLE account_setting ADD COLUMN public_donors TEXT NOT NULL DEFAULT '';
`
