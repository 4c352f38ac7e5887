import type { RunningTask } from '../../core/bus/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { openRpcPool, type RpcPool } from '../../core/rpc/pool.ts'
import {
  PAYMENT_NETWORKS,
  type PaymentNetworkName,
  paymentChain,
} from '../../schemas/payment-networks.ts'
import type { Facilitator } from './contract.ts'
import { lookUpTransfer, openClient, payerBalanceRaw } from './evm-node.ts'
import { createEvmSettlement } from './evm-settlement.ts'
import { type FinishDeps, startFinishingPurchases } from './finish-purchases.ts'
import { createMockFacilitator } from './mock-facilitator.ts'
import { openPaymentLog, type PaymentLogDeps } from './payment-log.ts'
import type { Payments } from './payments.ts'
import { createPayments } from './payments.ts'
import type { PlanSales } from './plan-sales.ts'
import { createPlanSales, readPlanPrices } from './plan-sales.ts'
import { createRemoteFacilitator } from './remote-facilitator.ts'
import type { PaymentPrices } from './terms.ts'

/** What paying for calls needs of the process. */
export interface PayPerCallDeps
  extends PaymentLogDeps,
    Pick<FinishDeps, 'organizations' | 'usedMilli' | 'graceMs' | 'everyMs'> {
  readonly metrics: Metrics
  readonly config: Pick<
    Config,
    | 'x402PayTo'
    | 'x402Networks'
    | 'x402Facilitator'
    | 'x402FacilitatorUrl'
    | 'x402GasKey'
    | 'x402RpcUrl'
    | 'x402MinAtomic'
    | 'x402AtomicPerCu'
    | 'x402Plans'
    | 'x402Status'
    | 'chainRpcUrls'
    | 'rpcConcurrency'
    | 'rpcPerSecond'
    | 'rpcTimeoutMs'
  >
}

/** Payments of calls as the settings say; undefined where there is no payee. Throws `Outage` when the log cannot be read. */
export const startPayPerCall = async (
  deps: PayPerCallDeps,
  baseUrl: () => string,
): Promise<(PaymentDeps & RunningTask) | undefined> => {
  const { config, nowMs, log, metrics } = deps
  if (config.x402PayTo === '') return undefined
  const payTo = config.x402PayTo as `0x${string}`
  const stopped = new AbortController()
  const facilitators = new Map<PaymentNetworkName, Facilitator>(
    config.x402Networks.map((network) => [network, openFacilitator(network, deps, stopped.signal)]),
  )
  const facilitatorOf = (network: PaymentNetworkName): Facilitator => {
    const facilitator = facilitators.get(network)
    if (facilitator === undefined) throw new Error(`${network} is not offered`)
    return facilitator
  }
  const paymentLog = await openPaymentLog(deps)
  const payments = createPayments({ facilitatorOf, paymentLog, metrics, nowMs, log })
  const finishing = startFinishingPurchases({
    ...deps,
    payments,
    paymentLog,
    facilitatorOf: (network) => facilitators.get(network),
  })
  const plans = readPlanPrices(config.x402Plans)
  return {
    payments,
    ...(plans.length > 0 && { sales: createPlanSales({ ...deps, plans, payments }) }),
    showsStatus: config.x402Status,
    prices: {
      payTo,
      networks: config.x402Networks,
      minRaw: BigInt(config.x402MinAtomic),
      perUnitRaw: BigInt(config.x402AtomicPerCu),
    },
    baseUrl: () => baseUrl().replace(/\/+$/, ''),
    stop: async () => {
      await finishing.stop()
      await paymentLog.stop()
      stopped.abort()
      for (const each of facilitators.values()) await each.close()
    },
  }
}

const openFacilitator = (
  network: PaymentNetworkName,
  deps: PayPerCallDeps,
  signal: AbortSignal,
): Facilitator => {
  const { config, log } = deps
  if (config.x402Facilitator === 'mock') return createMockFacilitator()
  const pool = openNodes(network, deps, signal)
  if (config.x402Facilitator === 'embedded')
    return createEvmSettlement({ network, pool, gasKey: config.x402GasKey.reveal(), log })
  const client = openClient({ network, pool })
  const remote = createRemoteFacilitator({
    url: config.x402FacilitatorUrl.reveal(),
    log,
    ...(nodeUrls(network, config).length > 0 && {
      lookUp: (transfer, earlier) => lookUpTransfer(client, transfer, earlier),
      payerBalanceRaw: (payment) => payerBalanceRaw(client, payment),
    }),
  })
  return {
    ...remote,
    close: async () => {
      await remote.close()
      pool.close()
    },
  }
}

/** The chain's own nodes where it has some, and the one that is named for payments. */
const nodeUrls = (
  network: PaymentNetworkName,
  { chainRpcUrls, x402RpcUrl }: PayPerCallDeps['config'],
): readonly string[] => {
  const chain = paymentChain(network)
  const own = chain === undefined ? [] : (chainRpcUrls[chain] ?? [])
  return [...own, x402RpcUrl].filter((url) => !url.isEmpty).map((url) => url.reveal())
}

const openNodes = (
  network: PaymentNetworkName,
  { config, metrics, log }: PayPerCallDeps,
  signal: AbortSignal,
): RpcPool => {
  const { chainId } = PAYMENT_NETWORKS[network]
  return openRpcPool({
    role: 'serve',
    chain: network,
    urls: nodeUrls(network, config),
    identity: {
      call: { method: 'eth_chainId', params: [] },
      accepts: (answer) => Number(answer) === chainId,
      name: `chain id ${chainId}`,
    },
    concurrency: config.rpcConcurrency,
    perSecond: config.rpcPerSecond,
    timeoutMs: config.rpcTimeoutMs,
    metrics,
    log,
    signal,
  })
}

/** What paying for calls works with; where it is absent, calls need a credential. */
export interface PaymentDeps {
  readonly payments: Payments
  readonly prices: PaymentPrices
  /** Public address of the API without a slash at its end: never what a client says in `Host`. */
  readonly baseUrl: () => string
  /** Present: wallets can buy plans. */
  readonly sales?: PlanSales
  /** Whether everybody may ask for the bought plan of a wallet. */
  readonly showsStatus: boolean
}
