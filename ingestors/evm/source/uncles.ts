import { Outage } from '../../../core/errors.ts'
import { RpcError, type RpcPool } from '../../../core/rpc/pool.ts'
import type { Uncle } from '../../../schemas/block-parts.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import { fieldsOf, refuse } from '../../input/json.ts'
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
      const told = await rpc
        .attempt(async (ask) => {
          const said = await ask(call)
          return said === null ? undefined : uncleOf(said, { name, index })
        })
        .catch((error: unknown) => {
          if (!(error instanceof RpcError)) throw error
          throw new Outage('rpc', `no uncle ${name}`, { cause: error })
        })
      if (told === undefined) throw new Outage('rpc', `no endpoint has the uncle ${name}`)
      return told
    }),
  )

/** The header of an uncle as a node gives it. Throws `InvalidInput`; reason of its own: `foreign-uncle`. */
const uncleOf = (
  value: unknown,
  { name, index }: { readonly name: string; readonly index: number },
): Uncle => {
  const said = fieldsOf(value, 'uncle')
  const hash = hashAt(said.hash, 'uncle.hash')
  if (hash !== name) throw refuse('foreign-uncle', 'uncle.hash', hash)
  const timeMs = countOf(said.timestamp, 'uncle.timestamp') * 1_000
  if (!Number.isSafeInteger(timeMs)) throw refuse('too-big', 'uncle.timestamp', said.timestamp)
  return {
    index,
    hash,
    timeMs,
    parentHash: hashAt(said.parentHash, 'uncle.parentHash'),
    miner: addressAt(said.miner, 'uncle.miner'),
    height: countOf(said.number, 'uncle.number'),
    difficultyRaw: quantityOf(said.difficulty, 'uncle.difficulty'),
    gasLimit: countOf(said.gasLimit, 'uncle.gasLimit'),
    gasUsed: countOf(said.gasUsed, 'uncle.gasUsed'),
  }
}
