-- Names lead to lanes, and lanes that turn out to be one subject's are merged (A10, X1 to X6).
--
-- `lane` is the number of the turns' side; where several lanes were merged, of the one that goes on.

CREATE TABLE procession_name (
    tenant INTEGER NOT NULL,
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    lane INTEGER NOT NULL,
    newest INTEGER NOT NULL,                    -- grows: which of a lane's names was heard last
    retired_at INTEGER,                         -- it is the subject's no more, and leads there for a while yet
    PRIMARY KEY (tenant, channel, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX procession_name_lane ON procession_name (tenant, lane, newest);
CREATE INDEX procession_name_retired ON procession_name (retired_at) WHERE retired_at IS NOT NULL;

ALTER TABLE procession_lane ADD COLUMN named INTEGER NOT NULL DEFAULT 0;    -- turns: names have led to it
ALTER TABLE procession_lane ADD COLUMN merged_into INTEGER;                 -- the lane, of the same side, that goes on for it
ALTER TABLE procession_lane ADD COLUMN closing INTEGER NOT NULL DEFAULT 0;  -- it was merged and has not come to its end
ALTER TABLE procession_lane ADD COLUMN merging INTEGER NOT NULL DEFAULT 0;  -- how many were merged into this one and have not
CREATE INDEX procession_lane_closing ON procession_lane (tenant, merged_into) WHERE closing = 1;
