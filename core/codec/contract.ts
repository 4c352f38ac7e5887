import type { Messages } from '../../schemas/wire.ts'

/** Name of a message: the Avro record without the namespace root. */
export type MessageName = keyof Messages

/** Any depth may be left out: the schema's defaults fill in. */
export type DeepPartial<T> = T extends Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DeepPartial<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> }
      : T

/** Avro in Confluent framing: byte 0, schema id as a big-endian int32, Avro binary. */
export interface Codec {
  /** Throws `InvalidInput` for a value that does not fit the schema. */
  encode<Name extends MessageName>(message: Name, value: DeepPartial<Messages[Name]>): Buffer
  /**
   * Throws `InvalidInput` for a wrong magic byte, an unknown schema id or bytes that do not parse; an `Outage` of the
   * registry while a foreign schema is being fetched: the same bytes decode soon after.
   */
  decode<Name extends MessageName>(message: Name, bytes: Uint8Array): Messages[Name]
}
