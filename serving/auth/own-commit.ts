import { randomBytes } from 'node:crypto'
import type { LogRecord, ProducerRecord } from '../../core/bus/contract.ts'
import { type RecordSigner, SIGNATURE_HEADER } from '../../core/security/record-signature.ts'

/** Header with the id of the commit and the record's place in it: equal records of another commit carry another. */
const COMMIT_HEADER = 'commit'
const COMMIT_ID_BYTES = 16

/** What tells whether the last commit is in the log although its answer was lost. One commit at a time. */
export interface OwnCommit {
  /** The records as they are to be written: with the header of this commit, signed. Replaces the commit before. */
  begin(records: readonly ProducerRecord[]): readonly ProducerRecord[]
  /** Takes a record of the tail. */
  read(record: LogRecord): void
  /** True when every record of the commit in a tailed topic was read as it was written; false without a commit. */
  isInLog(): boolean
  /** Forgets the commit. */
  end(): void
}

/**
 * Follows one commit of a control log. Only records of tailed topics can be read back: a commit needs one at least. The header is not
 * part of the signature, so that processes of an older version accept the record; what is read counts only with the signature of what
 * was written. Memory: one short text per record of the commit, until its end.
 */
export const createOwnCommit = (topics: readonly string[], signer: RecordSigner): OwnCommit => {
  /** Topic and signature of the records that were not read yet, by their header. */
  let unread: Map<string, string> | undefined
  return {
    begin: (records) => {
      const commitId = randomBytes(COMMIT_ID_BYTES).toString('base64url')
      const expected = new Map<string, string>()
      const written = records.map((record, at) => {
        const header = `${commitId}.${at}`
        const headers = { ...record.headers, [COMMIT_HEADER]: header }
        const signed = signer.sign({ ...record, headers })
        if (topics.includes(record.topic)) expected.set(header, fingerprint(signed))
        return signed
      })
      unread = expected.size > 0 ? expected : undefined
      return written
    },
    read: (record) => {
      const header = record.headers[COMMIT_HEADER]
      if (header === undefined || unread?.get(header) !== fingerprint(record)) return
      if (signer.problemOf(record) === undefined) unread.delete(header)
    },
    isInLog: () => unread?.size === 0,
    end: () => {
      unread = undefined
    },
  }
}

const fingerprint = ({ topic, headers }: Pick<ProducerRecord, 'topic' | 'headers'>): string =>
  `${topic} ${headers?.[SIGNATURE_HEADER] ?? ''}`
