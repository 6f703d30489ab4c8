-- Data keys count what they sealed, and what a turn opened can be forgotten in the order in which it was written.
--
-- A key of before this version has not been counted: it starts at none, which is far below its bound all the same.

ALTER TABLE procession_data_key ADD COLUMN seals INTEGER NOT NULL DEFAULT 0;

CREATE INDEX procession_audit_opened ON procession_audit (at) WHERE verb = 'secret open';
