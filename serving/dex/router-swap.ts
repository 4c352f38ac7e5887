import type { RouterKind } from '../../schemas/dex-routers.ts'
import type { Path } from './search.ts'

/** A swap along one path, with what it may cost or give at least. */
export interface RouterSwap {
  readonly kind: RouterKind
  readonly path: Path
  readonly mode: 'exact_in' | 'exact_out'
  readonly minOutRaw: bigint
  readonly maxInRaw: bigint
  readonly recipient: string
  /** Unix seconds. */
  readonly deadline: number
  /** The chain's native token is sold, bought. */
  readonly sellsNativeToken: boolean
  readonly buysNativeToken: boolean
  /** `v3`: the call by which the router hands a signed permit to the token, before the swap. */
  readonly selfPermit?: `0x${string}`
}
