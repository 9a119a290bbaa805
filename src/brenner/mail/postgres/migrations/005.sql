-- A contribution confirms receipt of the kickoffs, and the end of a session settles every ACK. Mail
-- from before gets the same answer: the first message that settles an owed ACK settles it now. The
-- record of a COMPILED message is canonical JSON, so its parts are found as text.
UPDATE deliveries SET owes_ack = FALSE, acknowledged_by = settled.message
FROM (
    SELECT d.recipient AS recipient, d.at AS at, d.message AS owed, (
        SELECT m.id FROM messages m
        WHERE m.thread = d.thread AND m.arrival > d.arrival AND (
            (
                d.type = 'KICKOFF' AND m.subject LIKE 'DELTA[%'
                AND m.sender = (SELECT name FROM agents WHERE number = d.recipient)
                AND EXISTS (SELECT 1 FROM deliveries t WHERE t.message = m.id AND t.type = 'DELTA')
            ) OR (
                m.subject LIKE 'COMPILED:%'
                AND strpos(m.body, '"status":"closed","version":') > 0
                AND strpos(m.body, '"operator":"' || m.sender || '","references_left_out":[') > 0
            )
        )
        ORDER BY m.arrival LIMIT 1
    ) AS message
    FROM deliveries d WHERE d.owes_ack
) AS settled
WHERE deliveries.recipient = settled.recipient AND deliveries.at = settled.at
    AND deliveries.message = settled.owed AND settled.message IS NOT NULL;
