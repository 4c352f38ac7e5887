import { type Bus, laneWriterId } from '../../core/bus/contract.ts'
import { loadConfig } from '../../core/config/load.ts'
import { Outage } from '../../core/errors.ts'
import { retry } from '../../core/retry.ts'
import type { BlockOperation } from '../app/block-operations.ts'
import { type LostLane, lostLanes, type ResumeFrom } from '../app/lost-lanes.ts'
import { withInfra } from '../app/with-infra.ts'
import { parseChainOption } from './chain-option.ts'
import type { CommandContext } from './status.ts'
import { UsageError } from './usage-error.ts'

/** Options of `sluice resume`. */
export interface ResumeOptions {
  readonly data?: string
  /** Default: every chain of the log, and the groups that all chains share. */
  readonly chain?: readonly string[]
  /** Absent: nothing is changed, what is missing is printed. */
  readonly from?: string
  readonly json?: boolean
}

/** A lane that takes its id in the same moment fences the command once or twice. */
const FENCED_RETRY = { firstMs: 200, maxMs: 2_000, tries: 5 }

/**
 * Says which lanes have lost their position in the log and what they will not read; with `from` gives each a new position, so
 * that it continues. Returns the exit code: 3 when halted lanes are left. Throws `UsageError`, `Outage`.
 */
export const resume = async (
  words: ResumeOptions,
  { environment, write }: Pick<CommandContext, 'environment' | 'write'>,
): Promise<number> => {
  const from = parseResumeFrom(words.from)
  const asked = words.chain?.map(parseChainOption)
  return withInfra(loadConfig(environment, { dataDir: words.data }), async (parts) => {
    const lanes: LostLane[] = []
    for (const chain of asked ?? [...parts.chains, null]) {
      lanes.push(...(await lostLanes({ ...parts, from: from ?? 'earliest' }, chain)))
    }
    if (from !== undefined) await moveLanes(parts.bus, lanes)
    const isMoved = from !== undefined
    write(
      words.json
        ? JSON.stringify({ moved: isMoved, lanes: lanes.map(({ state: _, ...lane }) => lane) })
        : resumeLines(lanes, isMoved).join('\n'),
    )
    return lanes.length > 0 && !isMoved ? 3 : 0
  })
}

const parseResumeFrom = (word: string | undefined): ResumeFrom | undefined => {
  if (word === undefined || word === 'earliest' || word === 'now') return word
  throw new UsageError([`--from: ${word} is not a position; expected earliest or now`])
}

/** Moves lanes to their new positions. Each is moved under the id of its own writer: one that still ran would be fenced. */
export const moveLanes = async (bus: Bus, lanes: readonly LostLane[]): Promise<void> => {
  for (const lane of lanes) {
    const again = (error: unknown): boolean => error instanceof Outage
    await retry(() => moveLane(bus, lane), { ...FENCED_RETRY, again })
  }
}

const moveLane = async (
  bus: Bus,
  { group, partition, offsets: next, state }: LostLane,
): Promise<void> => {
  const writer = await bus.writer(laneWriterId(group, partition))
  try {
    await writer.commit({ state, offsets: { group, next } })
  } finally {
    await writer.close()
  }
}

const resumeLines = (lanes: readonly LostLane[], isMoved: boolean): readonly string[] => {
  if (lanes.length === 0) return ['no lane has lost its offsets']
  const lines = lanes.flatMap(({ group, partition, records, first, next }) => [
    `${group}/${partition}`,
    `  skipped   from ${first === null ? 'a block that the log does not name' : operationText(first)} to before ${next === null ? 'the next block' : operationText(next)}`,
    ...records.map(
      ({ topic, place, next: to, offsets }) =>
        `  ${topic.padEnd(34)}${place} to ${to}: ${offsets} records at most`,
    ),
  ])
  const last = isMoved
    ? `${lanes.length} lanes continue; what they skipped is missing from tables, streams and sums`
    : `${lanes.length} lanes are blocked. To continue: --from earliest as above, --from now with the next block`
  return [...lines, last]
}

const operationText = ({ height, seq, timeMs }: BlockOperation): string =>
  `block ${height} (operation ${seq}, ${new Date(timeMs).toISOString()})`
