/**
 * The product on a simulated chain whose clock the test holds, once with reorgs on the way and once without: at every stop
 * both must hold and show the same.
 */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { nodeSource } from '../../../cli/app/node-source.ts'
import { readChainHistory } from '../../../cli/checksum/chain-history.ts'
import { loadConfig } from '../../../core/config/load.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { makeMetrics } from '../../../core/ops/metrics.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import { type Feed, feedTopics } from '../../../schemas/feeds.ts'
import { topicName } from '../../../schemas/topics.ts'
import type { WebhookChannel } from '../../../schemas/webhooks.ts'
import { type Simulator, startSimulator } from '../../../simulator/start.ts'
import {
  type AppContent,
  busiestAddresses,
  type ComparedAddresses,
  cubeContent,
  currentContent,
  finalContent,
  restContent,
  SURFACE_CHAINS,
} from '../app-content.ts'
import { type AppStack, startAppStack } from '../app-stack.ts'
import { type ChannelState, subscribeToAllChannels } from '../channel-state.ts'
import { until } from '../until.ts'
import { startWebhookEndpoints, type VerifiedDelivery } from '../webhook-endpoints.ts'

/** A simulated chain and where it is disturbed; heights are slots on Solana, none of them skipped. */
export interface ReorgPlan {
  readonly chain: 'sol' | 'eth'
  readonly seed: number
  readonly ratePerSecond: number
  readonly genesisMs: number
  /** Where the listeners join. */
  readonly from: number
  /** At each height so many blocks are replaced, and come back with the next block. */
  readonly reorgs: readonly { readonly at: number; readonly depth: number }[]
  /** Everything that was ever replaced is final here. */
  readonly end: number
  /** Webhook channels that have events on this chain. */
  readonly webhooks?: readonly WebhookChannel[]
}

/** What a run held at its stops. */
export interface ReorgResult {
  readonly subjects: ComparedAddresses
  readonly tips: readonly AppContent[]
  readonly final: AppContent
  readonly newest: ReadonlyMap<string, string>
  readonly standing: ReadonlyMap<string, readonly string[]>
  /** What an endpoint of every channel got, oldest first. */
  readonly hooks: readonly VerifiedDelivery[]
  /** Blocks that were taken back. */
  readonly reverts: number
}

const LIMIT_MS = 60_000
/** What a simulated chain can tell beside trades. */
const FEEDS: readonly Feed[] = [
  ...(['native-transfers', 'events', 'miner-rewards', 'instructions', 'rewards'] as const),
]
const OVERRIDES = {
  webhookAllow: ['127.0.0.0/8'],
  webhookMaxEventAgeSeconds: 0,
  feeds: [...FEEDS],
}

interface ReorgScenario {
  readonly plan: ReorgPlan
  readonly simulator: Simulator
  readonly product: AppStack
  /** Lets the chain's clock come to a height. */
  readonly moveTo: (height: number) => void
}

/** Follows the chain through the stops of the plan; without `disturbed` nothing is replaced on the way. */
const runPlan = async (
  plan: ReorgPlan,
  { folder, disturbed }: { readonly folder: string; readonly disturbed: boolean },
): Promise<ReorgResult> => {
  const { chain, seed, ratePerSecond, genesisMs } = plan
  const row = CHAINS[chain]
  let nowMs = genesisMs + plan.from * row.blockTimeMs
  const log = makeSilentLogger()
  const options = { chain, seed, ratePerSecond, genesisMs, nowMs: () => nowMs, log }
  const simulator = await startSimulator(options)
  const closing = new AbortController()
  let product: AppStack | undefined
  try {
    const { extra } = simulator
    const config = { ...loadConfig({}, OVERRIDES), chainExtra: { [chain]: extra } }
    const source = await nodeSource({
      chain: row,
      urls: [simulator.wsUrl],
      from: 0,
      config,
      log,
      metrics: makeMetrics(),
      signal: closing.signal,
    })
    product = await startAppStack({ chain: { row, source, extra }, folder, overrides: OVERRIDES })
    const moveTo = (height: number): void => {
      nowMs = genesisMs + height * row.blockTimeMs
    }
    return await runStops({ plan, simulator, product, moveTo }, disturbed)
  } finally {
    await product?.stop()
    closing.abort()
    await simulator.stop()
  }
}

const runStops = async (scenario: ReorgScenario, disturbed: boolean): Promise<ReorgResult> => {
  const { plan, product, simulator, moveTo } = scenario
  await waitUntilHeight(scenario, plan.from)
  const subjects = await busiestAddresses(product, plan.chain)
  const ear: ChannelState = await subscribeToAllChannels(product, plan.chain, subjects)
  const hooks = await startWebhookEndpoints()
  await hooks.register(product, 'all')
  const tips: AppContent[] = []
  for (const { at, depth } of plan.reorgs) {
    moveTo(at)
    await waitUntilHeight(scenario, at)
    if (disturbed) {
      const { hash } = simulator.head()
      simulator.reorg(depth)
      await until(() => simulator.head().hash !== hash, 'another branch is on show', LIMIT_MS)
      await waitUntilProcessed(scenario)
    }
    moveTo(at + 1)
    await waitUntilHeight(scenario, at + 1)
    tips.push(await readContent(scenario, subjects))
  }
  moveTo(plan.end)
  await waitUntilHeight(scenario, plan.end)
  const last = plan.reorgs.at(-1)?.at ?? 0
  const { bus, codec } = product.app
  const { operations } = await until(async () => {
    const held = await readChainHistory({ bus, codec, chain: plan.chain })
    return held.finalHeight > last && held
  }, 'the replaced blocks are final')
  await until(() => product.app.isCaughtUp(), 'everything is processed', LIMIT_MS)
  await ear.quiet()
  const told = await hooks.quiet('all')
  await hooks.stop()
  const heights = new Set(operations.map(({ height }) => height))
  return {
    subjects,
    tips,
    final: await finalContent(product, plan.chain, last + 1),
    newest: ear.newest(),
    standing: ear.standing(),
    hooks: told,
    reverts: (operations.length - heights.size) / 2,
  }
}

/** The node shows the height, and all of it has been ingested and processed. */
const waitUntilHeight = async (scenario: ReorgScenario, height: number): Promise<void> => {
  await until(
    () => scenario.simulator.head().height === height,
    `the node is at ${height}`,
    LIMIT_MS,
  )
  await waitUntilProcessed(scenario)
}

/** All that the node shows has been ingested and processed. */
const waitUntilProcessed = async ({
  simulator,
  product: { app },
}: ReorgScenario): Promise<void> => {
  const { hash, height } = simulator.head()
  await until(() => app.ingestors[0]?.status().hash === hash, `${height} is ingested`, LIMIT_MS)
  await until(() => app.isCaughtUp(), `${height} is processed`, LIMIT_MS)
}

const readContent = async (
  { plan, product }: ReorgScenario,
  subjects: ComparedAddresses,
): Promise<AppContent> => {
  const chain = SURFACE_CHAINS[plan.chain]
  return {
    ...(await currentContent(product, plan.chain)),
    ...(await cubeContent(product, chain)),
    ...(await restContent(product, chain, subjects)),
  }
}

/** Holds the lines of two runs against each other and shows the first that differ. */
const assertSameContent = (got: AppContent, want: AppContent): void => {
  assert.deepEqual(Object.keys(got), Object.keys(want))
  const differences = Object.entries(want).flatMap(([name, lines]) => {
    const other = got[name] ?? []
    if (lines.join('\n') === other.join('\n')) return []
    const onlyIn = (these: readonly string[], those: readonly string[]) => {
      const known = new Set(those)
      return these.filter((line) => !known.has(line)).slice(0, 2)
    }
    return [{ name, got: onlyIn(other, lines), want: onlyIn(lines, other) }]
  })
  assert.deepEqual(differences, [])
}

/** Runs the plan twice and compares everything that is seen at its stops. */
export const testReorgs = (name: string, plan: ReorgPlan): Promise<void> =>
  describe(name, () => {
    let clean: ReorgResult
    let disturbed: ReorgResult
    const folder = mkdtempSync(join(tmpdir(), 'sluice-reorg-'))

    before(async () => {
      clean = await runPlan(plan, { folder: join(folder, 'clean'), disturbed: false })
      disturbed = await runPlan(plan, { folder: join(folder, 'disturbed'), disturbed: true })
    })
    after(() => rm(folder, { recursive: true, force: true }))

    test('the reorg run reverted blocks, and its replaced blocks have trades', () => {
      const depths = plan.reorgs.reduce((sum, { depth }) => sum + depth, 0)
      assert.equal(clean.reverts, 0)
      assert.ok(disturbed.reverts >= depths * 0.8, `${disturbed.reverts} blocks were taken back`)
      assert.deepEqual(disturbed.subjects, clean.subjects)
    })

    for (const [index, { depth }] of plan.reorgs.entries()) {
      test(`after a reorg of depth ${depth} tables, topics, cubes and REST equal those of a clean run`, () => {
        const [got, want] = [disturbed.tips[index], clean.tips[index]]
        assert.ok(got && want)
        for (const [what, lines] of Object.entries(want)) assert.ok(lines.length > 0, what)
        assertSameContent(got, want)
      })
    }

    test('once every block is final the checksums equal those of a clean run, feeds included', () => {
      assertSameContent(disturbed.final, clean.final)
      for (const topic of feedTopics(CHAINS[plan.chain], FEEDS)) {
        const name = topicName(topic, plan.chain)
        assert.match(clean.final[name]?.[0] ?? '', /^[1-9]\d* /, name)
      }
    })

    test('the newest publication of every channel equals that of a clean run', () => {
      assert.ok(clean.newest.size >= 20, `${clean.newest.size} objects`)
      const differences = [...clean.newest].flatMap(([channel, want]) => {
        const got = disturbed.newest.get(channel)
        return got === want ? [] : [{ channel, got, want }]
      })
      assert.deepEqual(differences, [])
    })

    test('published trades and new tokens without their retractions equal those of a clean run', () => {
      const told = [...clean.standing.values()].reduce((sum, { length }) => sum + length, 0)
      assert.ok(told >= 50, `${told} frames`)
      assertSameContent(Object.fromEntries(disturbed.standing), Object.fromEntries(clean.standing))
    })

    test('a webhook is sent once per event, and not again when its block is applied again', () => {
      const ids = disturbed.hooks.map(({ id }) => id)
      assert.equal(new Set(ids).size, ids.length, 'no event twice')
      const line = ({ id, type, token }: VerifiedDelivery): string => `${type} ${token} ${id}`
      const got = new Set(disturbed.hooks.map(line))
      const want = clean.hooks.map(line)
      assert.deepEqual(
        want.filter((each) => !got.has(each)),
        [],
      )
      for (const type of plan.webhooks ?? []) {
        assert.ok(
          clean.hooks.some((each) => each.type === type),
          type,
        )
      }
    })
  })
