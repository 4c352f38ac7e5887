import { Outage } from '../../../core/errors.ts'
import { RpcError, type RpcPool } from '../../../core/rpc/pool.ts'
import type { Uncle } from '../../../schemas/block-parts.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import { fieldsOf, invalid } from '../../input/json.ts'
import { addressAt, countOf, hashAt, quantityOf } from '../abi/json.ts'

/**
 * Headers of the uncles that a block names, asked of a node. Throws `Outage` while none has them, `InvalidInput` for another one.
 */
export const unclesOf = (
  rpc: RpcPool,
  { hash }: EvmBlock,
  hashes: readonly string[],
): Promise<readonly Uncle[]> =>
  Promise.all(
    hashes.map(async (name, index) => {
      const params = [hash, `0x${index.toString(16)}`]
      const call = { method: 'eth_getUncleByBlockHashAndIndex', params }
      const reported = await rpc
        .attempt(async (ask) => {
          const raw = await ask(call)
          return raw === null ? undefined : uncleOf(raw, { name, index })
        })
        .catch((error: unknown) => {
          if (!(error instanceof RpcError)) throw error
          throw new Outage('rpc', `no endpoint returned the uncle ${name}`, { cause: error })
        })
      if (reported === undefined) throw new Outage('rpc', `no endpoint has the uncle ${name}`)
      return reported
    }),
  )

/** The header of an uncle as a node gives it. Throws `InvalidInput`; reason of its own: `foreign-uncle`. */
const uncleOf = (
  value: unknown,
  { name, index }: { readonly name: string; readonly index: number },
): Uncle => {
  const raw = fieldsOf(value, 'uncle')
  const hash = hashAt(raw.hash, 'uncle.hash')
  if (hash !== name) throw invalid('foreign-uncle', 'uncle.hash', hash)
  const timeMs = countOf(raw.timestamp, 'uncle.timestamp') * 1_000
  if (!Number.isSafeInteger(timeMs)) throw invalid('too-big', 'uncle.timestamp', raw.timestamp)
  return {
    index,
    hash,
    timeMs,
    parentHash: hashAt(raw.parentHash, 'uncle.parentHash'),
    miner: addressAt(raw.miner, 'uncle.miner'),
    height: countOf(raw.number, 'uncle.number'),
    difficultyRaw: quantityOf(raw.difficulty, 'uncle.difficulty'),
    gasLimit: countOf(raw.gasLimit, 'uncle.gasLimit'),
    gasUsed: countOf(raw.gasUsed, 'uncle.gasUsed'),
  }
}
