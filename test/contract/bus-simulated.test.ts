import type { Outage } from '../../core/errors.ts'
import { busSuite } from '../support/bus/suite.ts'
import { openSimulatedBus } from '../support/simulation/bus.ts'
import { SimulatedGroups } from '../support/simulation/lanes.ts'
import { SimulatedLog } from '../support/simulation/log.ts'

busSuite('simulated, two processes', async () => {
  const shared = new SimulatedLog('suite', Date.now)
  const groups = new SimulatedGroups()
  const halts: Outage[] = []
  let opened = 0
  const open = () => {
    opened += 1
    const onHalt = (outage: Outage): void => void halts.push(outage)
    return openSimulatedBus({ name: `process ${opened}`, shared, groups, onHalt })
  }
  let [bus, other] = [open(), open()]
  const close = async (): Promise<void> => {
    await bus.close()
    await other.close()
  }
  return {
    get bus() {
      return bus
    },
    get other() {
      return other
    },
    halts,
    restart: async () => {
      await close()
      bus = open()
      other = open()
    },
    expire: async (topic) => shared.expire(topic),
    compact: async (topic) => shared.compact(topic),
    close,
  }
})
