/**
 * A member of a Kafka group in a process of its own: says `commit LANE` after each commit, and kills itself in the middle
 * of its n-th transaction when `killAt` is not 0.
 */
import { writeSync } from 'node:fs'
import { openKafkaBus } from '../../../core/bus/kafka/bus.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { joinAsMember, type MemberLog } from './kafka-member.ts'

const [broker = '', path = '', killAt = '0', log = '{}'] = process.argv.slice(2)
let sends = 0

const bus = await openKafkaBus({
  brokers: [broker],
  clientId: 'child',
  log: makeSilentLogger(),
  sessionTimeoutMs: 2_000,
  state: { path, mapSizeBytes: 67_108_864 },
})
await joinAsMember(bus, JSON.parse(log) as MemberLog, {
  onSend: () => {
    sends += 1
    if (sends === Number(killAt)) process.kill(process.pid, 'SIGKILL')
  },
  onCommit: ({ partition }) => writeSync(1, `commit ${partition}\n`),
})
