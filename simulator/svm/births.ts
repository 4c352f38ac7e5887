import { buyInside, buyOnCurve, spendingOn } from './curve-trades.ts'
import type { Desk } from './desk.ts'
import type { Launch } from './launches.ts'
import { migrate } from './migrate.ts'
import { poolReserves } from './pool-trades.ts'
import { setPoolFair } from './prices.ts'
import { PHASE } from './pump.ts'
import { createLaunch } from './pump-create.ts'
import { aboutOf, launchesIn, partOf, someoneFor } from './stage.ts'

const UNITS = { create: 380_000, migrate: 400_000 } as const
/** Blocks after which a hyped token that nobody trades gives its place away too. */
const HYPE_ENDS = 6_000

/** Place for a new launch: an empty one, else that of the token which nobody has traded for longest. */
const placeFor = ({ machine }: Desk): number | undefined => {
  const { state, world, height } = machine
  const { layout } = world
  for (let slot = 0; slot < layout.launches; slot += 1)
    if (state.get(layout.launch(slot, 'serial')) === 0n) return slot
  const lastOf = ({ slot }: Launch): number => Number(state.get(layout.launch(slot, 'lastHeight')))
  const oldest = (launches: readonly Launch[]): Launch | undefined =>
    launches.reduce<Launch | undefined>(
      (found, one) => (found === undefined || lastOf(one) < lastOf(found) ? one : found),
      undefined,
    )
  const pools = launchesIn(machine, PHASE.pool)
  if (pools.length > layout.launches / 3) return oldest(pools)?.slot
  const curves = launchesIn(machine, PHASE.curve)
  return oldest(curves.filter((one) => one.heat !== 'hyped' || height - lastOf(one) > HYPE_ENDS))
    ?.slot
}

/** Forgets the token of a place: what people hold of it stays as it is for good, because nobody touches it again. */
const clear = ({ machine: { state, world } }: Desk, slot: number): void => {
  const { layout, wallets } = world
  const from = layout.launch(slot, 'serial')
  const to = layout.holding(slot, wallets.length - 1)
  for (let place = from; place <= to; place += 1) if (state.get(place) !== 0n) state.set(place, 0n)
}

/** A new token: often its creator buys in the same transaction, and others right behind. Returns the trades made. */
export const launchToken = (desk: Desk): number => {
  const { machine, random } = desk
  const { state, world, launches } = machine
  const slot = placeFor(desk)
  if (slot === undefined) return 0
  clear(desk, slot)
  state.commit()
  const count = world.layout.common('launches')
  const launch = launches.at(Number(state.get(count)), slot)
  const { creator } = launch
  const buys = random.chance(0.7)
  const spend = spendingOn(desk, launch) * 2n
  if (!desk.fund(creator, partOf(spend, 1_300))) return 0
  const made = desk.submit({
    ...{ payer: creator.account, signatures: 2, units: UNITS.create },
    ...(buys && { about: aboutOf(launch, launch.curve, creator) }),
    run: (run) => {
      state.add(count, 1n)
      state.set(world.layout.launch(slot, 'serial'), BigInt(launch.serial + 1))
      state.set(world.layout.launch(slot, 'lastHeight'), BigInt(machine.height))
      createLaunch(run, launch)
      const facts = { spend, slippage: 30, isRouted: false }
      if (buys) buyInside(run, { launch, user: creator }, facts)
    },
  })
  if (!made) return 0
  let trades = buys ? 1 : 0
  const followers = launch.heat === 'hyped' ? 3 : random.below(3)
  for (let at = 0; at < followers; at += 1)
    trades += buyOnCurve(desk, launch, someoneFor(world, launch, random))
  return trades
}

/** Moves complete curves to their pools, a block or two after the last token was sold. */
export const migrateComplete = (desk: Desk): void => {
  const { machine, random } = desk
  const [migrator] = machine.world.byRole.migrator
  for (const launch of launchesIn(machine, PHASE.complete)) {
    if (migrator === undefined || random.chance(0.4)) continue
    const sent = desk.submit({
      ...{ payer: migrator.account, units: UNITS.migrate },
      run: (run) => migrate(run, launch, migrator),
    })
    if (!sent) continue
    setPoolFair(machine, launch.slot, {
      ...poolReserves(desk, launch),
      factor: 0.6 + 2.4 * random.unit(),
    })
    machine.state.commit()
  }
}
