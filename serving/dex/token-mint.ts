import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './solana-calls.ts'
import type { SolanaAccount } from './solana-node.ts'

/** Bytes of a mint, and where those of Token-2022 have their kind and their extensions. Source: solana-program/token-2022 interface. */
const MINT = { bytes: 82, kind: 165, extensions: 166 } as const
const IS_MINT = 1

/**
 * Extensions of a mint that change neither how much of a transfer arrives nor which accounts it names: authority to close, confidential
 * transfers, first state of accounts, interest, permanent delegate, pointers and data of metadata and groups, shown amounts, pause.
 * Source: solana-program/token-2022 interface/src/extension/mod.rs.
 */
const HARMLESS: ReadonlySet<number> = new Set([3, 4, 6, 10, 12, 18, 19, 20, 21, 22, 23, 25, 26])

/** True where a transfer arrives whole and calls no other program: not with fees on transfers, hooks, or extensions that are not known. */
export const arrivesWhole = (mint: SolanaAccount | undefined): boolean => {
  if (mint === undefined) return false
  const { owner, data } = mint
  if (owner === TOKEN_PROGRAM) return data.length === MINT.bytes
  if (owner !== TOKEN_2022_PROGRAM) return false
  return data.length === MINT.bytes || (data[MINT.kind] === IS_MINT && hasHarmlessOnly(data))
}

const hasHarmlessOnly = (data: Uint8Array): boolean => {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let at: number = MINT.extensions
  while (at + 4 <= data.length) {
    const type = view.getUint16(at, true)
    // Nothing is written from here on.
    if (type === 0) return true
    if (!HARMLESS.has(type)) return false
    at += 4 + view.getUint16(at + 2, true)
  }
  return at <= data.length
}
