import { setMaxListeners } from 'node:events'
import pLimit from 'p-limit'
import { InvalidInput, Outage } from '../errors.ts'
import type { Logger } from '../ops/logger.ts'
import type { Metrics } from '../ops/metrics.ts'
import { retry } from '../retry.ts'
import {
  describeScalar,
  type Endpoint,
  httpEndpoint,
  isNodeError,
  type RpcCall,
  RpcError,
} from './endpoint.ts'
import { makeRateLimit } from './rate-limit.ts'
import { wsEndpoint } from './ws-endpoint.ts'

export { OversizedAnswer, RpcError } from './endpoint.ts'

/** Calls one endpoint: bound, measured, aborted with the signal of the pool. */
export type CallEndpoint = (call: RpcCall) => Promise<unknown>

/** Several endpoints of one chain behind one face. */
export interface RpcPool {
  /**
   * Runs `work` against one endpoint after the other, healthiest first, until one succeeds. A throw of `Outage` or
   * `InvalidInput` moves on and puts that endpoint on cooldown; `undefined` moves on without blame (it does not know yet).
   * Throws the last error when none succeeds, that of an endpoint of another chain only where there is no other; undefined when all that answered did not know.
   */
  attempt<T>(work: (ask: CallEndpoint) => Promise<T | undefined>): Promise<T | undefined>
  /**
   * Asks every endpoint that is not on cooldown for its height, and returns the answers, highest first. One far below the highest is
   * behind: the others are asked before it, and what it says is left out, until it has caught up. Throws the last error when
   * none answers.
   */
  survey<T>(survey: HeightSurvey<T>): Promise<readonly T[]>
  /**
   * Asks every endpoint that is not on cooldown, or with `all` every one, for its own view. Where every one failed, throws the
   * last error; with `all` it throws nothing.
   */
  poll<T>(
    work: (ask: CallEndpoint) => Promise<T | undefined>,
    which?: 'available' | 'all',
  ): Promise<readonly EndpointView<T>[]>
  /** Every notice of a subscription, at all endpoints of the chain that can push or only at the first of them that answers. */
  subscribe(call: RpcCall, listener: (notice: unknown) => void, at?: 'all' | 'first'): void
  /** Labels of endpoints that are on cooldown, behind or of another chain, for status. */
  unavailable(): readonly string[]
  close(): void
}

/** A request for the head of an endpoint. */
export interface HeightSurvey<T> {
  /** undefined: this endpoint cannot say. */
  readonly work: (ask: CallEndpoint) => Promise<T | undefined>
  readonly heightOf: (value: T) => number
  /** Blocks below the highest from which on an endpoint is behind; absent: endpoints are not compared by this request. */
  readonly far?: number
}

/** What one endpoint says for itself. */
export interface EndpointView<T> {
  /** undefined: it cannot say, or did not answer. */
  readonly value: T | undefined
  /** It was far below the others when they were last compared. */
  readonly behind: boolean
}

/** How an endpoint shows which chain it serves. */
export interface ChainCheck {
  readonly call: RpcCall
  readonly accepts: (answer: unknown) => boolean
  /** What is wanted, for messages: `chain id 1`. */
  readonly name: string
}

/** What a pool is made of. */
export interface RpcPoolOptions {
  /** Who asks: its calls are counted under this name. */
  readonly role: 'ingest' | 'serve'
  readonly chain: string
  readonly urls: readonly string[]
  /** Asked of every endpoint before its first use; one of another chain is never asked again. null: endpoints that only take transactions. */
  readonly identity: ChainCheck | null
  /** Default: HTTP or WebSocket by the address. */
  readonly endpointOf?: (url: string, timeoutMs: number) => Endpoint
  /** Calls in flight per endpoint. */
  readonly concurrency: number
  /** Calls per second and endpoint; 0 or absent = as many as there are. */
  readonly perSecond?: number
  readonly timeoutMs: number
  readonly metrics: Metrics
  readonly log: Logger
  readonly signal: AbortSignal
  /** Called with every invalid answer and the label of its endpoint. */
  readonly onMalformed?: (error: InvalidInput, endpoint: string) => void
  /** Clock of the cooldowns. */
  readonly nowMs?: () => number
}

interface PoolMember {
  readonly endpoint: Endpoint
  readonly ask: CallEndpoint
  failures: number
  cooldownUntilMs: number
  /** Far below the others when it was last compared. */
  behind: boolean
  /** Settles once the endpoint proved to be of this chain. */
  checked: Promise<void> | undefined
  foreign: boolean
}

const COOLDOWN_INITIAL_MS = 1_000
const COOLDOWN_MAX_MS = 60_000

/** Asks members for what is wanted of the pool. */
interface MemberCalls {
  order(): readonly PoolMember[]
  tryMember<T>(member: PoolMember, work: EndpointWork<T>): Promise<CallResult<T>>
  askEach<T>(
    asked: readonly PoolMember[],
    work: EndpointWork<T>,
  ): Promise<readonly MemberResult<T>[]>
}

type EndpointWork<T> = (ask: CallEndpoint) => Promise<T | undefined>
type CallResult<T> = { readonly value: T | undefined } | { readonly error: unknown }

const makeMemberCalls = (members: readonly PoolMember[], options: RpcPoolOptions): MemberCalls => {
  const { signal, log, nowMs = Date.now } = options
  const coolDown = (member: PoolMember, error: unknown): void => {
    member.failures += 1
    const cooldownMs = Math.min(COOLDOWN_MAX_MS, COOLDOWN_INITIAL_MS * 2 ** (member.failures - 1))
    member.cooldownUntilMs = nowMs() + cooldownMs
    log.warn(
      { endpoint: member.endpoint.label, cooldownMs, err: error },
      'RPC endpoint put on cooldown',
    )
    if (error instanceof InvalidInput) options.onMalformed?.(error, member.endpoint.label)
  }
  /** Available endpoints in their configured order, those behind after them, then those on cooldown, soonest first: a last resort. */
  const order = (): readonly PoolMember[] => {
    const usable = members.filter(({ foreign }) => !foreign)
    const now = nowMs()
    const ready = usable.filter(({ cooldownUntilMs }) => cooldownUntilMs <= now)
    const coolingDown = usable.filter(({ cooldownUntilMs }) => cooldownUntilMs > now)
    return [
      ...ready.toSorted((a, b) => Number(a.behind) - Number(b.behind)),
      ...coolingDown.toSorted((a, b) => a.cooldownUntilMs - b.cooldownUntilMs),
    ]
  }
  /** What one endpoint says; a rejected answer or a failure puts it on cooldown. */
  const tryMember = async <T>(
    member: PoolMember,
    work: EndpointWork<T>,
  ): Promise<CallResult<T>> => {
    try {
      await verifyChain(member, options)
      const value = await work(member.ask)
      member.failures = 0
      member.cooldownUntilMs = 0
      return { value }
    } catch (thrown) {
      if (signal.aborted) throw thrown
      const error = isNodeError(thrown) ? thrown : unreadableResponse(thrown)
      coolDown(member, error)
      return { error }
    }
  }
  const askEach = async <T>(
    asked: readonly PoolMember[],
    work: EndpointWork<T>,
  ): Promise<readonly MemberResult<T>[]> => {
    if (asked.length === 0) throw wrongChainOutage(options)
    return Promise.all(
      asked.map(async (member) => ({ member, ...(await tryMember(member, work)) })),
    )
  }
  return { order, tryMember, askEach }
}

/** Opens a pool; nothing is asked before the first use. */
export const openRpcPool = (options: RpcPoolOptions): RpcPool => {
  const { urls, signal, log, nowMs = Date.now } = options
  const members = urls.map((url) => makeMember(url, options))
  // Every call in flight and every subscription of every endpoint listens to it.
  setMaxListeners(0, signal)
  const { order, tryMember, askEach } = makeMemberCalls(members, options)
  return {
    attempt: async (work) => {
      let last: unknown
      for (const member of order()) {
        signal.throwIfAborted()
        const outcome = await tryMember(member, work)
        if ('error' in outcome) last = member.foreign ? (last ?? outcome.error) : outcome.error
        else if (outcome.value !== undefined) return outcome.value
      }
      if (last !== undefined) throw last
      if (members.every(({ foreign }) => foreign)) throw wrongChainOutage(options)
      return undefined
    },
    survey: async (survey) =>
      rankByHeight(survey, await askEach(readyMembers(order(), nowMs()), survey.work), log),
    poll: async (work, which = 'available') => {
      const outcomes = await askEach(
        which === 'all' ? order() : readyMembers(order(), nowMs()),
        work,
      )
      const failed = firstFailure(outcomes)
      if (
        which === 'available' &&
        failed !== undefined &&
        outcomes.every((each) => 'error' in each)
      ) {
        throw failed.error
      }
      return outcomes.flatMap((outcome) => {
        const { member } = outcome
        if (member.foreign) return []
        const value = 'error' in outcome ? undefined : outcome.value
        return [{ value, behind: member.behind }]
      })
    },
    subscribe: (call, listener, at = 'all') =>
      subscribeMembers({ members, options, at }, call, listener),
    unavailable: () => {
      const now = nowMs()
      return members
        .filter(
          ({ cooldownUntilMs, foreign, behind }) => foreign || behind || cooldownUntilMs > now,
        )
        .map(({ endpoint }) => endpoint.label)
    },
    close: () => {
      for (const { endpoint } of members) endpoint.close()
    },
  }
}

/** An answer on which a reader failed is that endpoint's alone: others are asked, and nothing else ends. */
const unreadableResponse = (cause: unknown): InvalidInput =>
  new InvalidInput('unreadable-answer', 'the answer of the node could not be read', { cause })

interface SubscribeContext {
  readonly members: readonly PoolMember[]
  readonly options: RpcPoolOptions
  readonly at: 'all' | 'first'
}

const subscribeMembers = (
  { members, options, at }: SubscribeContext,
  call: RpcCall,
  listener: (notice: unknown) => void,
): void => {
  const pushing = members.filter(({ endpoint }) => endpoint.subscribe !== undefined)
  const groups = at === 'all' ? pushing.map((member) => [member]) : [pushing]
  for (const group of groups) {
    firstVerified(group, options).then(
      (member) => member?.endpoint.subscribe?.(call, listener, options.signal),
      () => undefined,
    )
  }
}

/** What one endpoint said, or why it did not. */
type MemberResult<T> =
  | { readonly member: PoolMember; readonly value: T | undefined }
  | { readonly member: PoolMember; readonly error: unknown }

/** Those that are not on cooldown; where all are, the one whose cooldown ends first. */
const readyMembers = (order: readonly PoolMember[], now: number): readonly PoolMember[] => {
  const available = order.filter(({ cooldownUntilMs }) => cooldownUntilMs <= now)
  return available.length > 0 ? available : order.slice(0, 1)
}

/** The error of one that failed, of another chain only where there is no other. */
const firstFailure = <T>(
  outcomes: readonly MemberResult<T>[],
): { readonly error: unknown } | undefined => {
  const failures = outcomes.flatMap((each) => ('error' in each ? [each] : []))
  return failures.find(({ member }) => !member.foreign) ?? failures[0]
}

/** Marks who is behind, and gives what the others said, highest first. Throws the error of one where all failed. */
const rankByHeight = <T>(
  { heightOf, far }: HeightSurvey<T>,
  outcomes: readonly MemberResult<T>[],
  log: Logger,
): readonly T[] => {
  const all = outcomes.flatMap((outcome) => {
    if ('error' in outcome || outcome.value === undefined) return []
    const { member, value } = outcome
    return [{ member, value, height: heightOf(value) }]
  })
  const failed = firstFailure(outcomes)
  if (all.length === 0 && failed !== undefined) throw failed.error
  const sorted = all.toSorted((one, other) => other.height - one.height)
  const highest = sorted[0]?.height ?? 0
  if (far !== undefined) {
    for (const { member, height } of sorted) {
      const behind = height < highest - far
      if (behind && !member.behind) {
        log.warn(
          { endpoint: member.endpoint.label, height, highest },
          'RPC endpoint lags the others',
        )
      }
      member.behind = behind
    }
  }
  return sorted.flatMap(({ member, value }) => (member.behind ? [] : [value]))
}

const wrongChainOutage = ({ chain, identity }: RpcPoolOptions): Outage =>
  new Outage('rpc', `no endpoint serves ${chain} (${identity?.name})`, { final: true })

const endpointByScheme = (url: string, timeoutMs: number): Endpoint =>
  url.startsWith('ws') ? wsEndpoint(url, timeoutMs) : httpEndpoint(url, timeoutMs)

const makeMember = (url: string, options: RpcPoolOptions): PoolMember => {
  const { role, chain, concurrency, perSecond = 0, timeoutMs, metrics, signal } = options
  const { endpointOf = endpointByScheme } = options
  const endpoint = endpointOf(url, timeoutMs)
  const limit = pLimit(concurrency)
  const turn = makeRateLimit(perSecond)
  const ask: CallEndpoint = (call) =>
    limit(async () => {
      await turn()
      signal.throwIfAborted()
      const end = metrics.rpcSeconds.startTimer({ role, chain, method: call.method })
      const count = (outcome: string): void =>
        metrics.rpcCalls.inc({ role, chain, method: call.method, outcome })
      try {
        const result = await endpoint.request(call, signal, (bytes) =>
          metrics.rpcBytes.inc(
            { role, chain, method: call.method, endpoint: endpoint.label },
            bytes,
          ),
        )
        count('ok')
        return result
      } catch (error) {
        count(error instanceof RpcError ? 'refused' : 'failed')
        throw error
      } finally {
        end()
      }
    })
  return {
    endpoint,
    ask,
    failures: 0,
    cooldownUntilMs: 0,
    behind: false,
    checked: undefined,
    foreign: false,
  }
}

/** Pauses before endpoints that could not show their chain are asked again. */
const VERIFY_RETRY = { firstMs: 500, maxMs: 15_000, tries: Number.POSITIVE_INFINITY } as const

/** The first of these endpoints that proves to be of the chain, undefined when none is; waits until one answers. */
const firstVerified = (
  group: readonly PoolMember[],
  options: RpcPoolOptions,
): Promise<PoolMember | undefined> =>
  retry(
    async () => {
      let silent = false
      for (const member of group.filter(({ foreign }) => !foreign)) {
        const isVerified = await verifyChain(member, options).then(
          () => true,
          () => false,
        )
        if (isVerified) return member
        silent ||= !member.foreign
      }
      if (silent) throw new Outage('rpc', 'could not verify the chain id of any endpoint')
      return undefined
    },
    { ...VERIFY_RETRY, signal: options.signal },
  )

/** Asks for the chain once per endpoint; a failed request is repeated at the next use. */
const verifyChain = (
  member: PoolMember,
  { identity, log }: Pick<RpcPoolOptions, 'identity' | 'log'>,
): Promise<void> => {
  if (identity === null) return Promise.resolve()
  member.checked ??= member
    .ask(identity.call)
    .then((answer) => {
      if (identity.accepts(answer)) return
      member.foreign = true
      const value = describeScalar(answer)
      log.error(
        { endpoint: member.endpoint.label, value, wanted: identity.name },
        'RPC endpoint serves another chain, not used',
      )
      throw new Outage('rpc', `the endpoint serves another chain: ${value}`, { final: true })
    })
    .catch((error: unknown) => {
      member.checked = undefined
      throw error
    })
  return member.checked
}
