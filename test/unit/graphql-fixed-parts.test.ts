import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TextQuery } from '../../core/clickhouse/client.ts'
import { Fault } from '../../core/errors.ts'
import { CUBES } from '../../schemas/cubes/all.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { type AnswerFormat, formatFor, JSON_FORMAT } from '../../serving/graphql/answer-format.ts'
import { publicErrors } from '../../serving/graphql/errors.ts'
import { executePlan } from '../../serving/graphql/execute.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { parseDocument, validateDocument } from '../../serving/graphql/parse-document.ts'
import { createPlanner, type Planner } from '../../serving/graphql/plan.ts'
import { FREE_STEPS, planWithQuota } from '../../serving/graphql/plan-with-quota.ts'
import { createPlanningBudget } from '../../serving/graphql/planning-budget.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { createPlanningQueue } from '../../serving/http/planning-queue.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { emptyWork } from '../../serving/queries/limited-reads.ts'
import { planFacts } from '../support/plan-facts.ts'

const CATALOGUE = buildCubeSchema(CUBES, ['eth', 'bsc', 'sol'])
const newPlanner = (): Planner => createPlanner(CATALOGUE, QUERY_LIMITS)

type Variables = Readonly<Record<string, unknown>>

/** What a planner makes of a request: the facts of its plan, or its public errors. */
const outcome = ({ plan }: Planner, query: string, variables: Variables): unknown => {
  try {
    return planFacts(plan({ query, variables }))
  } catch (error) {
    const errors = publicErrors(error)
    if (!errors) throw error
    return errors
  }
}

/** Requests of one text each: what came first must not show in what comes later. */
const CASES: Readonly<Record<string, readonly [query: string, ...requests: Variables[]]>> = {
  'values, no value and null': [
    `query ($from: Int, $token: String) { EVM(network: eth) { DEXTrades(where: {Block: {Slot: {ge: $from}}}, tokenAddress: {is: $token}) {
      Block { Time Slot } Trade { Buy { Amount Currency { MintAddress Symbol } } } } } }`,
    { from: 5, token: '0xAB' },
    { from: 6 },
    { token: null, from: 7 },
    {},
    { from: 'x' },
    { from: 5, token: '0xcd' },
  ],
  'the network': [
    'query ($n: Network!) { EVM(network: $n) { DEXTrades { Block { Time } Trade { Buy { Currency { Symbol } } } } } }',
    { n: 'eth' },
    { n: 'bsc' },
    { n: 'solana' },
    { n: 'matic' },
    {},
  ],
  'limits, and what they cost': [
    `query ($rows: Int!) { EVM(network: eth) { Transfers(limit: {count: $rows}) { Transaction { ${Array.from({ length: 200 }, (_, i) => `h${i}: Hash`).join(' ')} } } } }`,
    { rows: 50 },
    { rows: 5_000 },
    { rows: 10_000 },
    { rows: -1 },
  ],
  'the order': [
    'query ($by: DEXTradesOrderBy, $n: Int) { EVM(network: eth) { DEXTrades(orderBy: {descending: $by}, limit: {count: $n}) { Block { Slot } } } }',
    { by: 'Block_Slot', n: 3 },
    { by: 'Pool_Address', n: 3 },
    { by: 'nope', n: 3 },
  ],
  'fields that variables take out': [
    `query ($on: Boolean!, $n: Int) { EVM(network: eth) { DEXTrades(limit: {count: $n}) {
      Block @include(if: $on) { Time } Pool { Address } Trade @skip(if: $on) { Dex { ProtocolName } } } } }`,
    { on: true, n: 1 },
    { on: false, n: 1 },
    { on: false, n: 2 },
    {},
  ],
  'a fragment with a variable': [
    `query ($min: Float, $n: Int) { EVM(network: eth) { DEXTrades(limit: {count: $n}) { ...F } } }
     fragment F on DEXTradesRecord { Block { Time } sum(of: Trade_Buy_AmountInUSD, selectWhere: {gt: $min}) }`,
    { min: 1, n: 1 },
    { min: 2, n: 1 },
    { n: 1 },
  ],
  'one record on chains that have other cubes': [
    `query ($n: Int) { EVM(network: eth) { Blocks(limit: {count: $n}) { ...R } }
       Solana { Blocks(limit: {count: $n}) { ...R } deep: Blocks { ...R } } Blocks(network: bsc, limit: {count: $n}) { ...R } }
     fragment R on BlocksRecord { Block { Time } ...T } fragment T on BlocksRecord { Block { ParentSlot } }`,
    { n: 1 },
    { n: 2 },
    { n: -1 },
    { n: 3 },
  ],
  'one record, of the cube that a network has': [
    'query ($n: String!) { Blocks(network: $n) { Block { Time ParentSlot } } }',
    { n: 'eth' },
    { n: 'solana' },
    { n: 'bsc' },
  ],
  'a text with errors in a part without variables': [
    'query ($n: Int) { EVM(network: eth) { a: DEXTrades(limit: {count: $n}) { ...F } b: DEXTrades { ...F } } } fragment F on DEXTradesRecord { Block { Time(nope: 1) Nope } }',
    { n: 1 },
    { n: 2 },
  ],
  'aggregates and joins': [
    `query ($n: Int, $s: String) { Solana { swaps: DEXTrades(limit: {count: $n}) { Block { Slot } joinTransfers { Transfer { Amount } } }
       DEXTrades(where: {Trade: {Dex: {ProtocolName: {is: $s}}}}) { Block { Time(interval: {in: hours, count: 2}) } count p: calculate(expression: "$count * 2") } } }`,
    { n: 1, s: 'a' },
    { n: 2, s: 'b' },
  ],
}

test('a plan is the same whatever was planned before from the same text', () => {
  for (const [name, [query, ...requests]] of Object.entries(CASES)) {
    const fresh = requests.map((variables) => outcome(newPlanner(), query, variables))
    for (let first = 0; first < requests.length; first++) {
      const planner = newPlanner()
      for (let step = 0; step < requests.length * 2; step++) {
        const at = (first + step) % requests.length
        assert.deepEqual(
          outcome(planner, query, requests[at] ?? {}),
          fresh[at],
          `${name}: ${JSON.stringify(requests[at])} behind ${step} others`,
        )
      }
    }
  }
})

test('fields of parts that are kept count in every request', () => {
  const query = `query ($on: Boolean!) { EVM(network: eth) { DEXTrades { Block { Slot } Pool { Address } }
    Transfers { Transaction @include(if: $on) { Hash } Transaction { Hash } } } }`
  // Taken out, the first Transaction is a field of its own: it is not merged with the second.
  const planner = createPlanner(CATALOGUE, { ...QUERY_LIMITS, maxFields: 9 })
  const tooMany = /selects more than 9 fields/
  assert.throws(() => planner.plan({ query, variables: { on: false } }), tooMany)
  planner.plan({ query, variables: { on: true } })
  assert.throws(() => planner.plan({ query, variables: { on: false } }), tooMany)
})

test('the cases make different plans', () => {
  for (const [name, [query, ...requests]] of Object.entries(CASES)) {
    const plans = requests
      .map((variables) => JSON.stringify(outcome(newPlanner(), query, variables)))
      .filter((text) => text.startsWith('{"keys"'))
    const isWrong = name.startsWith('a text with errors')
    assert.ok(isWrong ? plans.length === 0 : new Set(plans).size > 1, name)
  }
})

test('parts that are kept count the steps that they took: the budget of a request does not depend on others', () => {
  for (const [name, [query, ...requests]] of Object.entries(CASES)) {
    const reading = createPlanningBudget(QUERY_LIMITS.maxSteps)
    validateDocument(parseDocument(query, QUERY_LIMITS, reading), CATALOGUE.schema, reading)
    const stepsOf = (planner: Planner, variables: Variables): number => {
      const work = createPlanningBudget(QUERY_LIMITS.maxSteps)
      try {
        planner.plan({ query, variables }, work)
      } catch (error) {
        if (!publicErrors(error)) throw error
      }
      return work.done()
    }
    for (const variables of requests) {
      const alone = stepsOf(newPlanner(), variables) - reading.done()
      const planner = newPlanner()
      const others = requests.filter((other) => other !== variables)
      for (const other of others) stepsOf(planner, other)
      if (others.length > 0) assert.equal(stepsOf(planner, variables), alone, name)
    }
  }
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

test('who has no quota is refused a costly text that another one has planned', async () => {
  const fields = Array.from({ length: 5_000 }, (_, i) => `h${i}: Hash`).join(' ')
  const query = `query ($n: Int) { EVM(network: eth) { Transfers(limit: {count: $n}) { Transaction { ${fields} } } } }`
  const deps = {
    planner: newPlanner(),
    limits: QUERY_LIMITS,
    turns: createPlanningQueue(),
  }
  const paying = { ...deps, meter: createMeter() }
  for (const n of [1, 2]) {
    const plan = await planWithQuota({ query, variables: { n } }, principal('free'), paying)
    assert.equal(plan.selections[0]?.limit.count, n)
  }
  const work = createPlanningBudget(QUERY_LIMITS.maxSteps)
  deps.planner.plan({ query, variables: { n: 3 } }, work)
  assert.ok(work.done() > FREE_STEPS, `${work.done()} steps`)
  const noQuota = {
    reserve: () => {
      throw new Fault('FORBIDDEN')
    },
  }
  await assert.rejects(
    planWithQuota({ query, variables: { n: 4 } }, principal('free'), { ...deps, meter: noQuota }),
    (error) => error instanceof Fault && error.faultName === 'FORBIDDEN',
  )
})

const run = async (
  plan: ReturnType<Planner['plan']>,
  nowMs: number,
  format: AnswerFormat = JSON_FORMAT,
): Promise<TextQuery> => {
  const asked: TextQuery[] = []
  await executePlan(
    plan,
    {
      reads: {
        perOrg: 2,
        queryText: async (query) => {
          asked.push(query)
          return { body: Buffer.from('[]'), rowCount: 0, rowsRead: 0, elapsedMs: 0 }
        },
      },
      freshness: { of: async () => null },
      limits: QUERY_LIMITS,
      nowMs: () => nowMs,
      format,
    },
    { orgId: 'org', plan: 'free', signal: new AbortController().signal, work: emptyWork() },
  )
  const [only] = asked
  assert.ok(only)
  return only
}

test('a plan that is kept runs with the times of each run, and in each format', async () => {
  const { plan } = newPlanner()
  const query = `{ EVM(network: eth, dataset: realtime) { Transfers(where: {Block: {Time: {since_relative: {hours_ago: 2}}}}) { Transaction { Hash } } } }`
  const kept = plan({ query })
  const timesAt = async (nowMs: number): Promise<readonly unknown[]> =>
    Object.values((await run(kept, nowMs)).params ?? {}).filter((value) =>
      /^\d{4}-/.test(String(value)),
    )
  const day = Date.UTC(2026, 2, 2)
  assert.deepEqual(await timesAt(day), ['2026-03-01 22:00:00.000', '2026-03-01 00:00:00.000'])
  assert.deepEqual(await timesAt(day + 3_600_000), [
    '2026-03-01 23:00:00.000',
    '2026-03-01 01:00:00.000',
  ])
  const json = await run(kept, day)
  const csv = await run(kept, day, formatFor('text/csv'))
  assert.match(json.template.row, /^\{"Transaction":\{"Hash":.*\}\}$/)
  assert.ok(!csv.template.row.includes('Transaction'))
  assert.equal(csv.sql, json.sql)
  assert.deepEqual((await run(kept, day)).template, json.template)
})
