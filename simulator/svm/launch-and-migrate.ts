import type { BlockBuilder } from './block-builder.ts'
import { addCurveBuy, buyOnCurve, randomSpend } from './curve-trades.ts'
import { setPoolFairPrice } from './fair-prices.ts'
import { launchesInPhase, perMille, randomTrader, tradeSubject } from './launch-traders.ts'
import type { Launch } from './launches.ts'
import { migrateLaunch } from './migrate.ts'
import { LAUNCH_PHASE } from './pump-fun.ts'
import { createPumpFunToken } from './pump-fun-create.ts'
import { poolReserves } from './pumpswap-trades.ts'

const COMPUTE_UNITS = { create: 380_000, migrate: 400_000 } as const
/** Blocks after which a hyped token without trades gives its place away too. */
const HYPE_EXPIRY_BLOCKS = 6_000

/** Place for a new launch: an empty one, else that of the token without trades for longest. */
const chooseLaunchSlot = ({ context }: BlockBuilder): number | undefined => {
  const { state, scenario, height } = context
  const { layout } = scenario
  for (let slot = 0; slot < layout.launches; slot += 1)
    if (state.get(layout.launch(slot, 'serial')) === 0n) return slot
  const lastOf = ({ slot }: Launch): number => Number(state.get(layout.launch(slot, 'lastHeight')))
  const oldest = (launches: readonly Launch[]): Launch | undefined =>
    launches.reduce<Launch | undefined>(
      (found, one) => (found === undefined || lastOf(one) < lastOf(found) ? one : found),
      undefined,
    )
  const pools = launchesInPhase(context, LAUNCH_PHASE.pool)
  if (pools.length > layout.launches / 3) return oldest(pools)?.slot
  const curves = launchesInPhase(context, LAUNCH_PHASE.curve)
  return oldest(
    curves.filter((one) => one.popularity !== 'hyped' || height - lastOf(one) > HYPE_EXPIRY_BLOCKS),
  )?.slot
}

/** Forgets the token of a place: what people hold of it stays as it is for good, because it is not touched again. */
const clearLaunchSlot = ({ context: { state, scenario } }: BlockBuilder, slot: number): void => {
  const { layout, wallets } = scenario
  const from = layout.launch(slot, 'serial')
  const to = layout.holding(slot, wallets.length - 1)
  for (let place = from; place <= to; place += 1) if (state.get(place) !== 0n) state.set(place, 0n)
}

/** A new token: often its creator buys in the same transaction, and others right behind. Returns the trades made. */
export const launchToken = (blockBuilder: BlockBuilder): number => {
  const { context, random } = blockBuilder
  const { state, scenario, launches } = context
  const slot = chooseLaunchSlot(blockBuilder)
  if (slot === undefined) return 0
  clearLaunchSlot(blockBuilder, slot)
  state.commit()
  const count = scenario.layout.common('launches')
  const launch = launches.at(Number(state.get(count)), slot)
  const { creator } = launch
  const buys = random.chance(0.7)
  const spend = randomSpend(blockBuilder, launch) * 2n
  if (!blockBuilder.fund(creator, perMille(spend, 1_300))) return 0
  const made = blockBuilder.submit({
    payer: creator.account,
    signatures: 2,
    units: COMPUTE_UNITS.create,
    ...(buys && { about: tradeSubject(launch, launch.curve, creator) }),
    run: (run) => {
      state.add(count, 1n)
      state.set(scenario.layout.launch(slot, 'serial'), BigInt(launch.serial + 1))
      state.set(scenario.layout.launch(slot, 'lastHeight'), BigInt(context.height))
      createPumpFunToken(run, launch)
      const facts = { spend, slippage: 30, isRouted: false }
      if (buys) addCurveBuy(run, { launch, user: creator }, facts)
    },
  })
  if (!made) return 0
  let trades = buys ? 1 : 0
  const followers = launch.popularity === 'hyped' ? 3 : random.below(3)
  for (let at = 0; at < followers; at += 1)
    trades += buyOnCurve(blockBuilder, launch, randomTrader(scenario, launch, random))
  return trades
}

/** Moves complete curves to their pools, a block or two after the last token was sold. */
export const migrateCompleteCurves = (blockBuilder: BlockBuilder): void => {
  const { context, random } = blockBuilder
  const [migrator] = context.scenario.byRole.migrator
  for (const launch of launchesInPhase(context, LAUNCH_PHASE.complete)) {
    if (migrator === undefined || random.chance(0.4)) continue
    const sent = blockBuilder.submit({
      payer: migrator.account,
      units: COMPUTE_UNITS.migrate,
      run: (run) => migrateLaunch(run, launch, migrator),
    })
    if (!sent) continue
    setPoolFairPrice(context, launch.slot, {
      ...poolReserves(blockBuilder, launch),
      factor: 0.6 + 2.4 * random.unit(),
    })
    context.state.commit()
  }
}
