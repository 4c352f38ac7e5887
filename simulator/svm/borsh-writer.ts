const MAX_BYTES = 1_024
const U64 = (1n << 64n) - 1n

/** Little-endian fields one after the other, as Borsh and the programs of Solana lay them out; 1,024 bytes at most. */
export class BorshWriter {
  readonly #buffer = Buffer.allocUnsafe(MAX_BYTES)
  #at = 0

  u8(value: number): this {
    this.#at = this.#buffer.writeUInt8(value, this.#at)
    return this
  }

  u16(value: number): this {
    this.#at = this.#buffer.writeUInt16LE(value, this.#at)
    return this
  }

  u32(value: number): this {
    this.#at = this.#buffer.writeUInt32LE(value, this.#at)
    return this
  }

  u64(value: bigint): this {
    this.#at = this.#buffer.writeBigUInt64LE(value, this.#at)
    return this
  }

  i64(value: number): this {
    this.#at = this.#buffer.writeBigInt64LE(BigInt(value), this.#at)
    return this
  }

  u128(value: bigint): this {
    return this.u64(value & U64).u64(value >> 64n)
  }

  bool(value: boolean): this {
    return this.u8(value ? 1 : 0)
  }

  raw(bytes: Uint8Array): this {
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
    return this
  }

  hex(digits: string): this {
    return this.raw(Buffer.from(digits, 'hex'))
  }

  /** 32 bytes of an address. */
  pubkey(at: { readonly key: Uint8Array }): this {
    return this.raw(at.key)
  }

  /** A string with its length before it. */
  text(value: string): this {
    const bytes = Buffer.from(value, 'utf8')
    return this.u32(bytes.length).raw(bytes)
  }

  toBytes(): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(0, this.#at))
  }
}
