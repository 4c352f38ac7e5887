import { chainRow } from '../../../schemas/chains.ts'
import type { Log, Transaction } from '../../../schemas/events.ts'
import { topicAddress } from '../abi/words.ts'

/** Who takes fees on ZKsync and gives back what was too much. Source: matter-labs/era-contracts, BOOTLOADER_FORMAL_ADDRESS. */
const BOOTLOADER = '0x0000000000000000000000000000000000008001'
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const nativeContractOf = (chain: string | undefined): string | undefined =>
  chain === undefined ? undefined : chainRow(chain)?.nativeTokenContract

/** Whether fees of a chain, those of failed transactions too, are logged as moves of the native token. */
export const keepsFeeLogs = (chain: string | undefined): boolean =>
  nativeContractOf(chain) !== undefined

/**
 * Whether a log tells of a fee that moves as the native token does: all that a failed transaction of such a chain leaves behind. Everything else
 * that it logged was undone.
 */
const isFeeLog = (chain: string | undefined, log: Log): boolean =>
  isNativeTransfer(chain, log) &&
  (topicAddress(log.topics[1]) === BOOTLOADER || topicAddress(log.topics[2]) === BOOTLOADER)

const isNativeTransfer = (chain: string | undefined, { address, topics }: Log): boolean =>
  address === nativeContractOf(chain) && topics.length === 3 && topics[0] === TRANSFER

/**
 * Who paid the fee by the logs of a transaction, where fees are logged: who pays first, before anything else runs. On ZKsync that can be
 * a paymaster. undefined: no log tells.
 */
export const loggedFeePayer = (chain: string, logs: readonly Log[]): string | undefined => {
  if (!keepsFeeLogs(chain)) return undefined
  const paid = logs.find(
    (log) => isNativeTransfer(chain, log) && topicAddress(log.topics[2]) === BOOTLOADER,
  )
  return paid && topicAddress(paid.topics[1])
}

/** The logs of a transaction that stand: all of one that succeeded, of one that failed those of its fee. */
export const effectiveLogs = (
  chain: string | undefined,
  { success, logs }: Pick<Transaction, 'success' | 'logs'>,
): readonly Log[] => (success ? logs : logs.filter((log) => isFeeLog(chain, log)))
