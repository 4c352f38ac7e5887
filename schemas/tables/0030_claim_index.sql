-- The place of a claim is not known where its event does not say; 0 is the first claim. Rows before this migration have 0 for both.
ALTER TABLE {chain}_redpacket_claims MODIFY COLUMN IF EXISTS claim_index Nullable(UInt32);
