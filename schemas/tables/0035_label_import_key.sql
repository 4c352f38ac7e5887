-- Imports of several sources that end at once have one version: each keeps its row. A key is extended only by a column that comes with it, so this
-- one repeats the source; in one statement, so that it is there in full or not at all.
ALTER TABLE label_imports
  ADD COLUMN IF NOT EXISTS source_key LowCardinality(String),
  MODIFY ORDER BY (version, source_key);

-- Rows of before, under the new key; those that are copied already replace themselves.
INSERT INTO label_imports (version, source, format, added, closed, imported_at, source_key)
SELECT version, source, format, added, closed, imported_at, source FROM label_imports WHERE source_key = '';
