import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { encodeAbiParameters, encodeEventTopics, type Hex, parseAbi } from 'viem'
import { recordedBlock } from '../../../ingestors/recorded/files.ts'
import type { DecodedBlock, EvmBlock, Log } from '../../../schemas/events.ts'

/** A log before it has its place in a block. */
export type LogWithoutIndex = Omit<Log, 'index'>

/** The log of an event that is written as in its source, `indexed` parts where they stand there. */
export const buildEventLog = (
  address: string,
  signature: string,
  args: readonly unknown[],
): LogWithoutIndex => {
  const abi = parseAbi([`event ${signature}`] as readonly string[])
  const [event] = abi
  if (event?.type !== 'event') throw new Error(`no event: ${signature}`)
  const indexed = args.filter((_, at) => event.inputs[at]?.indexed)
  const plain = event.inputs.filter((input) => !input.indexed)
  const values = args.filter((_, at) => !event.inputs[at]?.indexed)
  const topics = encodeEventTopics({ abi, eventName: event.name, args: indexed } as never) as Hex[]
  return { address, topics, data: encodeAbiParameters(plain, values) }
}

/** The same log with word `index` of its data replaced. */
export const withDataWord = (
  log: LogWithoutIndex,
  index: number,
  value: bigint,
): LogWithoutIndex => {
  const at = 2 + index * 64
  const word = value.toString(16).padStart(64, '0')
  return { ...log, data: log.data.slice(0, at) + word + log.data.slice(at + 64) }
}

/** The same log without its last byte. */
export const withoutLastByte = (log: LogWithoutIndex): LogWithoutIndex => ({
  ...log,
  data: log.data.slice(0, -2),
})

/** Reasons for which logs were not taken, in their order. */
export const dropReasons = ({ dropped }: DecodedBlock): readonly string[] =>
  dropped.map(({ reason }) => reason)

const FOLDER = fileURLToPath(new URL('../../fixtures/', import.meta.url))

/** A recorded log of an EVM chain as a block that holds it alone. */
export const recordedLog = (chain: string, name: string): { block: EvmBlock; log: Log } => {
  const json = JSON.parse(readFileSync(`${FOLDER}${chain}/${name}`, 'utf8'))
  const { block } = recordedBlock(chain, json)
  const log = block.vm === 'evm' ? block.transactions[0]?.logs[0] : undefined
  if (block.vm !== 'evm' || log === undefined) throw new Error(`no log in ${name}`)
  return { block, log }
}

/** What `expected.json` says of a recorded log. */
export const expectedLog = (key: string): Readonly<Record<string, unknown>> =>
  JSON.parse(readFileSync(`${FOLDER}expected.json`, 'utf8'))[key]
