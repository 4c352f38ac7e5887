import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { ChainRow } from '../../../schemas/chains.ts'
import type { EvmBlock, Transfer } from '../../../schemas/events.ts'
import { topicAddress, wordAt, wordCount } from '../abi/words.ts'

/**
 * Calls that move the value they name. DELEGATECALL and STATICCALL move nothing, CALLCODE gives to the caller itself.
 * Source: execution-specs.
 */
const MOVING: ReadonlySet<string> = new Set(['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'])

/** `LogTransfer(address,address,address,uint256,...)` of the native token's contract. Source: maticnetwork/bor core/evm.go. */
const LOG_TRANSFER = '0xe6497e3ee548a3372136af2fcb0696db31fc6cf20260707645068bd3fe97f3c4'

/**
 * Moves of a chain's native token as transfers: the calls that stand and carry value, the transaction's own among them; where no node
 * reported calls, the value of transactions alone. Behind them the withdrawals, which belong to no transaction. Where a contract of
 * the chain logs them its logs are read instead; where it logs them as a token does, they are transfers already. Pure.
 */
export const nativeTransfers = (block: EvmBlock, chain: ChainRow): readonly Transfer[] => {
  if (chain.nativeTokenContract !== undefined) return []
  const move: TransferBuilder = (txIndex, [from, to], amountRaw) => ({
    ...({ kind: 'transfer', txIndex, logIndex: 0, token: chain.nativeAddress } as const),
    from,
    to,
    amountRaw,
    wrap: false,
  })
  if (chain.nativeTransferLogger !== undefined)
    return loggedTransfers(block, chain.nativeTransferLogger, move)
  const transfers: Transfer[] = []
  for (const { txIndex, index, type, from, to, valueRaw, success } of block.calls ?? []) {
    if (!success || valueRaw === 0n || to === null || !MOVING.has(type)) continue
    transfers.push({ ...move(txIndex, [from, to], valueRaw), callIndex: index })
  }
  if (block.calls === undefined) {
    for (const { index, from, to, contractAddress, valueRaw, success } of block.transactions) {
      const receiver = to ?? contractAddress
      if (!success || valueRaw === 0n || receiver === null) continue
      transfers.push({ ...move(index, [from, receiver], valueRaw), callIndex: 0 })
    }
  }
  const behind = block.transactions.length
  for (const { to, amountRaw } of block.withdrawals ?? []) {
    if (amountRaw > 0n) transfers.push(move(behind, [EVM_ZERO_ADDRESS, to], amountRaw))
  }
  return transfers
}

type TransferBuilder = (
  txIndex: number,
  way: readonly [from: string, to: string],
  amountRaw: bigint,
) => Transfer

const loggedTransfers = (
  block: EvmBlock,
  logger: string,
  move: TransferBuilder,
): readonly Transfer[] =>
  block.transactions.flatMap(({ index: txIndex, logs }) =>
    logs.flatMap(({ address, topics: [topic, , from, to], data, index: logIndex }) => {
      if (address !== logger || topic !== LOG_TRANSFER) return []
      if (from === undefined || to === undefined || wordCount(data) < 1) return []
      const amountRaw = wordAt(data, 0)
      if (amountRaw === 0n) return []
      return [{ ...move(txIndex, [topicAddress(from), topicAddress(to)], amountRaw), logIndex }]
    }),
  )
