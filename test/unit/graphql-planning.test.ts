import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GraphQLError, getIntrospectionQuery, parse, visit } from 'graphql'
import { Fault } from '../../core/errors.ts'
import { CUBES } from '../../schemas/cubes/all.ts'
import { MIN_QUERY_MILLI_UNITS, PLANS } from '../../schemas/plans.ts'
import { createMeter, type QuotaMeter } from '../../serving/billing/meter.ts'
import { errorEnvelope, publicErrors } from '../../serving/graphql/errors.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { FREE_STEPS, planWithQuota } from '../../serving/graphql/plan-with-quota.ts'
import { createPlanningBudget } from '../../serving/graphql/planning-budget.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { createPlanningQueue } from '../../serving/http/planning-queue.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { DOCUMENTED_QUERIES, DOCUMENTED_VARIABLES } from '../support/documented/queries.ts'
import { EXPENSIVE_QUERIES } from '../support/expensive-queries.ts'

const CATALOGUE = buildCubeSchema(CUBES, ['eth', 'bsc', 'sol'])
const LIMITS = QUERY_LIMITS
/** Most that one turn may compute, as a multiple of reading a large body once. Without a budget of steps it was hundreds. */
const MOST_READINGS = 20
/** A turn is measured this often, and the shortest counts: the compiler and the collector run at times of their own. */
const ATTEMPTS = 3

/** Milliseconds that this process has computed: unlike a clock it does not run on while other processes have the machine. */
const computedMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** The longest time between two turns of the event loop while `work` runs. */
const longestTurnMs = async (work: () => Promise<void>): Promise<number> => {
  let longest = 0
  let last = computedMs()
  let watching = true
  const turn = (): void => {
    longest = Math.max(longest, computedMs() - last)
    last = computedMs()
    if (watching) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  await new Promise((resolve) => setImmediate(resolve))
  watching = false
  return longest
}

/** What the bare library computes to parse and visit one body of the greatest size: the measure of this machine at this time. */
const readingMs = (): number => {
  const text = `{ Solana { ${Array.from({ length: 5_000 }, (_, i) => `a${i}: DEXTrades(limit: {count: ${i}}) { count }`).join(' ')} } }`
  const times = Array.from({ length: ATTEMPTS }, () => {
    const from = computedMs()
    visit(parse(text, { noLocation: true }), { enter: () => undefined })
    return computedMs() - from
  })
  return Math.min(...times)
}

test('planning never blocks the event loop for long, and ends as a plan or a typed error', async (t) => {
  const { plan } = createPlanner(CATALOGUE, LIMITS)
  for (const [name, query] of Object.entries(DOCUMENTED_QUERIES))
    plan({ query, variables: (DOCUMENTED_VARIABLES[name] ?? {}) as Record<string, unknown> })
  const reading = readingMs()
  for (const { name, query, variables = {}, ends } of EXPENSIVE_QUERIES) {
    assert.ok(JSON.stringify({ query, variables }).length < 262_144, `${name} fits a body`)
    const turns: number[] = []
    while (turns.length < ATTEMPTS && !turns.some((ms) => ms <= MOST_READINGS * reading)) {
      const { planInTurns } = createPlanner(CATALOGUE, LIMITS)
      const work = createPlanningBudget(LIMITS.maxSteps)
      let ended = 'plan'
      const longest = await longestTurnMs(async () => {
        await planInTurns({ query, variables }, work).catch((error: unknown) => {
          const errors = publicErrors(error)
          if (!errors) throw error
          ended = errors[0]?.extensions?.code ?? ''
          assert.ok(errorEnvelope(errors).length < 100_000, `${name}: the errors are short`)
          if (ended === 'QUERY_TOO_EXPENSIVE') assert.ok(work.done() > FREE_STEPS, name)
        })
      })
      assert.equal(ended, ends, name)
      turns.push(longest)
      t.diagnostic(`${name}: ${(longest / reading).toFixed(1)} readings, ${work.done()} steps`)
    }
    const readings = Math.min(...turns) / reading
    assert.ok(readings <= MOST_READINGS, `${name}: ${readings.toFixed(1)} readings`)
  }
})

test('a repeated fragment is planned once', () => {
  const { plan } = createPlanner(CATALOGUE, LIMITS)
  const steps = (query: string): number => {
    const work = createPlanningBudget(LIMITS.maxSteps)
    plan({ query }, work)
    return work.done()
  }
  const doubled = (times: number): string =>
    `{ Solana { DEXTrades { ...F${times} } } } fragment F0 on DEXTradesRecord { count } ${Array.from({ length: times }, (_, i) => `fragment F${i + 1} on DEXTradesRecord { ...F${i} ...F${i} }`).join(' ')}`
  assert.ok(steps(doubled(40)) < 3 * steps(doubled(20)), `${steps(doubled(40))} steps`)
})

test('ordinary queries use a small part of the planning budget, the whole schema at most half of its own', () => {
  const { plan } = createPlanner(CATALOGUE, LIMITS)
  for (const [name, query] of Object.entries(DOCUMENTED_QUERIES)) {
    const work = createPlanningBudget(LIMITS.maxSteps)
    plan({ query, variables: (DOCUMENTED_VARIABLES[name] ?? {}) as Record<string, unknown> }, work)
    assert.ok(work.done() < 2_000, `${name}: ${work.done()} steps`)
  }
  const cubes = Array.from(
    { length: 100 },
    (_, i) =>
      `a${i}: DEXTrades(where: {Block: {Slot: {gt: 5}}}) { Block { Time Slot Hash } Trade { Buy { Amount AmountInUSD Currency { Symbol } } Sell { Amount } } }`,
  ).join(' ')
  const work = createPlanningBudget(LIMITS.maxSteps)
  assert.equal(plan({ query: `{ Solana { ${cubes} } }` }, work).selections.length, 100)
  assert.ok(work.done() < LIMITS.maxSteps * 0.7, `${work.done()} steps`)
  const half = createPlanner(CATALOGUE, {
    ...LIMITS,
    maxIntrospection: LIMITS.maxIntrospection / 2,
  })
  const whole = createPlanningBudget(LIMITS.maxSteps)
  half.plan({ query: getIntrospectionQuery() }, whole)
  assert.ok(whole.done() < FREE_STEPS, `${whole.done()} steps`)
})

test('an error of many nodes lists ten of their locations at most', () => {
  const { plan } = createPlanner(CATALOGUE, LIMITS)
  const errorsOf = (query: string) => {
    try {
      plan({ query })
    } catch (error) {
      return publicErrors(error)
    }
    return undefined
  }
  const [unknown] = errorsOf('{\n  Solana {\n    DEXTrades { nope }\n  }\n}') ?? []
  assert.deepEqual(unknown?.locations, [{ line: 3, column: 17 }])
  const [syntax] = errorsOf('{\n  Solana {\n !') ?? []
  assert.deepEqual(syntax?.locations, [{ line: 3, column: 2 }])
  assert.equal(syntax?.extensions?.code, 'GRAPHQL_PARSE_FAILED')
  const [repeated] = errorsOf(`{ Solana { DEXTrades(${'a: 1 '.repeat(500)}) { count } } }`) ?? []
  assert.equal(repeated?.locations.length, 10)
})

const principal = (plan: Principal['plan']): Principal => ({
  kind: 'api-key',
  orgId: plan,
  appId: 'app',
  credentialId: 'key',
  plan,
  scopes: [],
  expiresAtMs: null,
})
const depsOf = (meter: QuotaMeter) => ({
  planner: createPlanner(CATALOGUE, LIMITS),
  meter,
  limits: LIMITS,
  turns: createPlanningQueue(),
})
const COSTLY = EXPENSIVE_QUERIES.find(({ ends }) => ends === 'QUERY_TOO_EXPENSIVE')?.query ?? ''

test('a query that is refused after long planning is charged the minimum of a query', async () => {
  const meter = createMeter()
  const deps = depsOf(meter)
  const free = principal('free')
  const used = (): number => meter.quota(free).used * 1_000
  await assert.rejects(planWithQuota({ query: COSTLY }, free, deps), {
    name: 'PlanningTooExpensive',
  })
  assert.equal(used(), MIN_QUERY_MILLI_UNITS)
  await assert.rejects(planWithQuota({ query: '{ nope }' }, free, deps), {
    name: 'InvalidDocument',
  })
  await planWithQuota({ query: getIntrospectionQuery() }, free, deps)
  await planWithQuota({ query: '{ Solana { DEXTrades { count } } }' }, free, deps)
  assert.equal(used(), MIN_QUERY_MILLI_UNITS, 'nothing else was charged, nothing is held')
  assert.equal(meter.quota(free).remaining, 30_000 - used() / 1_000)
})

test('without quota only free queries are planned', async () => {
  const meter = createMeter({ plans: { ...PLANS, free: { ...PLANS.free, unitsPerMonth: 0 } } })
  const deps = depsOf(meter)
  const free = principal('free')
  await planWithQuota({ query: getIntrospectionQuery() }, free, deps)
  await assert.rejects(planWithQuota({ query: '{ nope }' }, free, deps), {
    name: 'InvalidDocument',
  })
  await assert.rejects(
    planWithQuota({ query: COSTLY }, free, deps),
    (error) => error instanceof Fault && error.faultName === 'FORBIDDEN',
  )
})

test('rows times fields over all selections are bounded, aliases included', () => {
  const { plan } = createPlanner(CATALOGUE, LIMITS)
  const transfers = (rows: number, aliases: number, name = 'a') =>
    `${name}: Transfers(limit: {count: ${rows}}) { Transaction { ${Array.from({ length: aliases }, (_, i) => `h${i}: Hash`).join(' ')} } }`
  const errorsOf = (...cubes: readonly string[]) => {
    try {
      plan({ query: `{\n  EVM(network: eth) {\n${cubes.join('\n')} } }` })
    } catch (error) {
      return publicErrors(error)
    }
    return undefined
  }
  assert.equal(errorsOf(transfers(10_000, 100)), undefined)
  assert.equal(errorsOf(transfers(25, 4_000)), undefined)
  const [one] = errorsOf(transfers(1_500, 2_000)) ?? []
  assert.equal(one?.extensions?.code, 'QUERY_TOO_EXPENSIVE')
  assert.match(one?.message ?? '', /more than 1000000 values/)
  assert.deepEqual(one?.locations, [{ line: 3, column: 1 }])
  const [second] = errorsOf(transfers(10_000, 60), transfers(10_000, 60, 'b')) ?? []
  assert.deepEqual(second?.locations, [{ line: 4, column: 1 }])
  const names = Array.from({ length: 101 }, (_, i) => `t${i}: __typename`).join(' ')
  const [typed] = errorsOf(`Transfers(limit: {count: 10000}) { ${names} }`) ?? []
  assert.equal(typed?.extensions?.code, 'QUERY_TOO_EXPENSIVE')
})

test('introspection gives a bounded number of bytes, whatever its names are called', () => {
  const { plan } = createPlanner(CATALOGUE, LIMITS)
  const named = (length: number): string => `{ __schema { types { ${'A'.repeat(length)}: name } } }`
  const bytesOf = (query: string): number =>
    [...plan({ query }).introspection.values()].reduce((sum, { length }) => sum + length, 0)
  const short = bytesOf(named(10))
  const types = (bytesOf(named(1_010)) - short) / 1_000
  const most = LIMITS.maxIntrospectionBytes
  assert.throws(() => plan({ query: named(Math.ceil(most / types)) }), /more than 4000000 bytes/)
  assert.ok(bytesOf(named(Math.floor((most - 2 * short) / types))) <= most)
  const whole = bytesOf(getIntrospectionQuery({ descriptions: true }))
  assert.ok(whole < most / 2, `${whole} bytes`)
})

test('a plan that is kept is that of the operation, of the variables and of the kind that it was made for', () => {
  const { plan } = createPlanner(CATALOGUE, LIMITS)
  const query = `
    query A($count: Int) { EVM(network: eth) { Blocks(limit: {count: $count}) { Block { Slot } } } }
    query B($count: Int) { EVM(network: bsc) { Blocks(limit: {count: $count}) { Block { Slot } } } }`
  const facts = (operationName: string, count: number) =>
    plan({ query, operationName, variables: { count } }).selections.map(({ chains, limit }) => ({
      chains,
      count: limit.count,
    }))
  for (let turn = 0; turn < 2; turn += 1) {
    assert.deepEqual(facts('A', 1), [{ chains: ['eth'], count: 1 }])
    assert.deepEqual(facts('B', 1), [{ chains: ['bsc'], count: 1 }])
    assert.deepEqual(facts('A', 2), [{ chains: ['eth'], count: 2 }])
  }
  const subscription = 'subscription { EVM(network: eth) { Blocks { Block { Slot } } } }'
  assert.equal(plan({ query: subscription, kind: 'subscription' }).selections.length, 1)
  assert.throws(() => plan({ query: subscription }), GraphQLError)
  const asked = '{ EVM(network: eth) { Blocks { Block { Slot } } } }'
  assert.equal(plan({ query: asked }).selections.length, 1)
  assert.throws(() => plan({ query: asked, kind: 'subscription' }), GraphQLError)
})
