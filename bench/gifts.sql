-- Everything that is derived from gifts. checksum is a function of the program that runs this.

CREATE TEMP TABLE given AS
SELECT account_id AS account, contact_id AS contact, campaign_id AS campaign, plan_id AS plan, net, CASE WHEN plan_id <> 0 THEN net ELSE 0 END AS recurring,
	CAST(strftime('%Y%m', given_at, 'unixepoch') AS INTEGER) AS month, CASE WHEN net > 0 THEN contact_id END AS giver
FROM gift;

-- The kinds of cells (giving.Cell): what they are about, and which of them count donors.
INSERT INTO giving SELECT account, printf('%016d/%08d/USD/%09d', 0, month, 0), count(*), sum(net > 0), sum(net), sum(recurring), 0
	FROM given GROUP BY account, month;
INSERT INTO giving SELECT account, printf('%016d/%08d/USD/%09d', 0, 0, contact % 1000000000), count(*), sum(net > 0), sum(net), sum(recurring), 0
	FROM given GROUP BY account, contact;
INSERT INTO giving SELECT account, printf('%016d/%08d/USD/%09d', campaign, 0, 0), count(*), sum(net > 0), sum(net), sum(recurring), count(DISTINCT giver)
	FROM given WHERE campaign <> 0 GROUP BY account, campaign;
INSERT INTO giving SELECT account, printf('%016d/%08d/USD/%09d', campaign, 0, contact % 1000000000), count(*), sum(net > 0), sum(net), sum(recurring), 0
	FROM given WHERE campaign <> 0 GROUP BY account, campaign, contact;

UPDATE contact SET body = CAST(replace(body, '"recurring_contributions":0,"total_contributions":0',
	printf('"recurring_contributions":%d,"total_contributions":%d', recurring / 100, amount / 100)) AS BLOB)
FROM giving WHERE giving.account_id = contact.account_id AND cell = printf('%016d/%08d/USD/%09d', 0, 0, contact.id % 1000000000);

UPDATE contact SET checksum = checksum(body), given = json_extract('{"id":0' || CAST(body AS TEXT), '$.stats.total_contributions'),
	last_gift = COALESCE((SELECT max(given_at) FROM gift WHERE gift.account_id = contact.account_id AND contact_id = contact.id AND net > 0), 0);
