/**
 * A writer for the crash suite: commits blocks of records, a final record, state and offsets, says each acknowledged one, and
 * kills itself inside the given step of the given block. `torn` runs each step of a commit in a transaction of its own.
 */
import { writeSync } from 'node:fs'
import { openEmbeddedBus } from '../../../core/bus/embedded/bus.ts'
import type {
  CommitHooks,
  CommitStep,
  RunTransaction,
} from '../../../core/bus/embedded/commit-queue.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import {
  BLOCKS_TOPIC,
  CONSUMER_GROUP,
  crashCommit,
  RECORDS_TOPIC,
  STATE_STORE,
} from './crash-suite.ts'

const [path = '', step = '', killAt = '0', mode = 'whole'] = process.argv.slice(2)

const splitTransaction: RunTransaction = ({ root }, steps) => {
  for (const work of steps) root.transactionSync(work)
}

const main = async (): Promise<void> => {
  let block = 0
  const hooks: CommitHooks = {
    onStep: (at: CommitStep) => {
      if (at === step && block === Number(killAt)) process.kill(process.pid, 'SIGKILL')
    },
    ...(mode === 'torn' && { transact: splitTransaction }),
  }
  const bus = await openEmbeddedBus({
    path,
    mapSizeBytes: 67_108_864,
    log: makeSilentLogger(),
    retention: 'off',
    hooks,
  })
  const spec = { cleanup: 'delete', retentionMs: null } as const
  await bus.createTopics([
    { ...spec, topic: RECORDS_TOPIC, partitions: 2 },
    { ...spec, topic: BLOCKS_TOPIC, partitions: 1 },
  ])
  const done = (await bus.offsets(CONSUMER_GROUP, [BLOCKS_TOPIC]))[0]?.offset ?? 0
  const writer = await bus.writer(STATE_STORE)
  for (block = done; ; block += 1) {
    await writer.commit(crashCommit(block))
    writeSync(1, `${block}\n`)
  }
}

await main()
