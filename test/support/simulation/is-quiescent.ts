import { PROCESS_PIPELINE } from '../../../processors/process-pipeline.ts'
import { sinkGroup } from '../../../processors/sinks/runner.ts'
import { SINKS } from '../../../processors/sinks/tables.ts'
import { stateTopic, topicName } from '../../../schemas/topics.ts'
import type { ChainView } from './chain.ts'
import type { SimulatedLog } from './log.ts'

const CHAIN = 'eth'
const BLOCKS = topicName('blocks', CHAIN)

/** Which parts of the product there are to wait for: the ingestor, the stages behind it, the sinks behind them. */
export interface QuiescenceParts {
  /** Lanes of the stages; 0: they do not run. */
  readonly partitions: number
  readonly isSunk: boolean
}

/** Newest block operation, newest final height and hash of the tip, by the headers of `{c}.blocks`. */
const readLogState = (log: SimulatedLog) => {
  const tips: string[] = []
  let seq = 0
  let finalHeight = 0
  const { end = 0 } = log.ends(BLOCKS)[0] ?? {}
  for (const { headers } of log.records({ topic: BLOCKS, partition: 0, from: 0, to: end })) {
    seq = Number(headers.seq)
    if (headers.op === 'A') tips.push(headers.hash ?? '')
    else if (headers.op === 'R') tips.pop()
    else finalHeight = Number(headers.height)
  }
  return { seq, finalHeight, tip: tips.at(-1) }
}

const hasConsumedAll = (log: SimulatedLog, group: string, topic: string): boolean => {
  const places = log.offsets(group, [topic])
  return log.ends(topic).every(({ partition, low, end }) => {
    const place = places.find((each) => each.partition === partition)?.offset ?? low
    return place >= end
  })
}

const lastProcessedSeq = (log: SimulatedLog, partition: number): number => {
  const bytes = log.stateOf(stateTopic(PROCESS_PIPELINE.app, CHAIN), partition).get('progress')
  return bytes === undefined ? -1 : Number(JSON.parse(Buffer.from(bytes).toString()).seq)
}

/** Whether the log holds all of the chain as its node shows it last, and every stage and sink is behind its end. */
export const isQuiescent = (
  log: SimulatedLog,
  last: ChainView,
  parts: QuiescenceParts,
): boolean => {
  if (!log.topics('').includes(BLOCKS)) return false
  const { seq, finalHeight, tip } = readLogState(log)
  if (tip !== last.blocks.at(-1)?.hash || finalHeight < last.finalHeight) return false
  for (let partition = 0; partition < parts.partitions; partition += 1) {
    if (lastProcessedSeq(log, partition) !== seq) return false
  }
  return (
    !parts.isSunk ||
    SINKS.every((sink) => hasConsumedAll(log, sinkGroup(sink, CHAIN), topicName(sink.topic, CHAIN)))
  )
}
