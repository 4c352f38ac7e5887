import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { LogRecord, ProducerRecord } from '../bus/contract.ts'

/** Header that carries the signature. */
export const SIGNATURE_HEADER = 'signature'

/** Why a record is not accepted. */
export type SignatureProblem = 'unsigned' | 'wrong-signature'

/** Signs records of this installation and recognises them when they are read. */
export interface RecordSigner {
  sign(record: ProducerRecord): ProducerRecord
  /** Undefined: the record was written by a holder of the secret, for this topic and key. */
  problemOf(record: LogRecord): SignatureProblem | undefined
}

type SignedFields = Pick<ProducerRecord, 'topic' | 'key' | 'value'>

/**
 * HMAC-SHA256 (RFC 2104) over topic, key and value, under a key that HKDF-SHA256 (RFC 5869) derives from the installation's
 * secret. Whoever may write to the log but does not know the secret cannot make a record, move one to another key, or write a
 * tombstone. A record that was written before can be written again: only access control of the log prevents that.
 */
export const makeRecordSigner = (secret: string): RecordSigner => {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'control-records', 32))
  const signature = (record: SignedFields): Buffer => {
    const head = JSON.stringify([record.topic, record.key, record.value === null])
    return createHmac('sha256', key)
      .update(`${Buffer.byteLength(head)}:${head}`)
      .update(record.value ?? '')
      .digest()
  }
  return {
    sign: (record) => ({
      ...record,
      headers: { ...record.headers, [SIGNATURE_HEADER]: signature(record).toString('base64url') },
    }),
    problemOf: (record) => {
      const given = record.headers[SIGNATURE_HEADER]
      if (given === undefined) return 'unsigned'
      const [have, want] = [Buffer.from(given, 'base64url'), signature(record)]
      return have.length === want.length && timingSafeEqual(have, want)
        ? undefined
        : 'wrong-signature'
    },
  }
}
