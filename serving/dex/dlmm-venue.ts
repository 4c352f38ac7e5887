import { Fault } from '../../core/errors.ts'
import { DLMM } from './dlmm-accounts.ts'
import { DLMM_PAIR } from './dlmm-layout.ts'
import { accountsOf, dataOf, keyAt, MEMO_PROGRAM, used } from './solana-calls.ts'
import { programAddress } from './solana-message.ts'
import type { SolanaVenue, VenueAccounts, VenueSwap } from './solana-venues.ts'

/** No further accounts for hooks of transfers. Source: type RemainingAccountsInfo. */
const NO_HOOKS = '00000000'

const swapData = ({ mode, amountInRaw, minOutRaw, maxInRaw }: VenueSwap): Uint8Array =>
  Buffer.concat([
    mode === 'exact_in'
      ? dataOf('414b3f4ceb5b5b88', amountInRaw, minOutRaw)
      : dataOf('2bd7f784893cf351', maxInRaw, minOutRaw),
    Buffer.from(NO_HOOKS, 'hex'),
  ])

const arraysOf = ({ quoted }: VenueAccounts, sellsX: boolean): readonly string[] => {
  if (quoted?.kind === 'dlmm') return sellsX ? quoted.binArrays.sellingX : quoted.binArrays.sellingY
  throw new Fault('DEX_ROUTE_BUILD_FAILED', undefined, { reason: 'the bins are not known' })
}

/** Pools of Meteora DLMM (swap2, swap_exact_out2). Source: MeteoraAg/dlmm-sdk idls/dlmm.json. */
export const meteoraDlmm: SolanaVenue = {
  program: DLMM,
  acceptsNativeToken: false,
  config: null,
  swap: async (swap, accounts) => {
    const { pool } = accounts
    const [mintX, mintY] = [keyAt(pool, DLMM_PAIR.mintX), keyAt(pool, DLMM_PAIR.mintY)]
    const sellsX = swap.tokenIn === mintX
    const programs = [swap.programIn, swap.programOut]
    return {
      program: DLMM,
      data: swapData(swap),
      accounts: accountsOf(
        // In place of accounts that may be left out stands the program: the bitmap beyond that of the pool, and who gets a part of the fee.
        ...[used(swap.pool, 'write'), DLMM],
        used(keyAt(pool, DLMM_PAIR.reserveX), 'write'),
        used(keyAt(pool, DLMM_PAIR.reserveY), 'write'),
        ...[used(swap.accountIn, 'write'), used(swap.accountOut, 'write')],
        ...[mintX, mintY, used(keyAt(pool, DLMM_PAIR.oracle), 'write'), DLMM],
        used(swap.owner, 'sign'),
        ...(sellsX ? programs : programs.toReversed()),
        MEMO_PROGRAM,
        await programAddress(DLMM, [{ word: '__event_authority' }]),
        DLMM,
        ...arraysOf(accounts, sellsX).map((array) => used(array, 'write')),
      ),
    }
  },
}
