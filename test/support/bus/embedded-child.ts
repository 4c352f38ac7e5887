/** A process that owns an embedded log: `hold` is killed while it owns it, `fill` writes until the disk refuses. */
import { randomBytes } from 'node:crypto'
import { openEmbeddedBus } from '../../../core/bus/embedded/bus.ts'
import { Outage } from '../../../core/errors.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'

const [task, path = ''] = process.argv.slice(2)

const main = async (): Promise<void> => {
  const bus = await openEmbeddedBus({
    path,
    mapSizeBytes: 1_073_741_824,
    log: makeSilentLogger(),
    retention: 'off',
  })
  await bus.createTopics([{ topic: 't', partitions: 1, cleanup: 'delete', retentionMs: null }])
  const writer = await bus.writer('w')
  if (task === 'hold') {
    await writer.commit({ records: [{ topic: 't', key: 'k', value: Buffer.from('v') }] })
    process.kill(process.pid, 'SIGKILL')
  }
  for (let whole = 0; ; whole += 1) {
    const key = `${whole}`
    const records = Array.from({ length: 20 }, () => ({
      topic: 't',
      key,
      value: randomBytes(5_000),
    }))
    try {
      await writer.commit({ records })
    } catch (error) {
      if (!(error instanceof Outage)) throw error
      console.log(JSON.stringify({ whole, of: error.of, final: error.final }))
      await bus.close()
      return
    }
  }
}

await main()
