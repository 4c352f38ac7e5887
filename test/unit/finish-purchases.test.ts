import { test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import type { PlanPurchase } from '../../schemas/wire.ts'
import {
  type FinishDeps,
  startFinishingPurchases,
} from '../../serving/payments/finish-purchases.ts'
import { until } from '../support/until.ts'

test('orders that nothing can be said of do not keep later ones from being looked at', async () => {
  const orders = Array.from(
    { length: 120 },
    (_, at) =>
      ({
        ...{ payment_id: `p${at}`, network: 'base', asset: '0x1', address: '0x2', pay_to: '0x3' },
        ...{ amount_raw: '1', nonce: `0x${at}`, valid_before: 0, ordered_at: 0 },
      }) as unknown as PlanPurchase,
  )
  const lookedUp = new Set<string>()
  const deps = {
    accounts: { registry: { open: () => orders }, purchasesAs: () => ({}) },
    payments: { isHeld: () => false },
    paymentLog: { find: () => undefined },
    facilitatorOf: () => ({
      lookUp: async ({ nonce }: { readonly nonce: string }) => {
        lookedUp.add(nonce)
        return 'unknown'
      },
    }),
    usedMilli: () => 0,
    nowMs: Date.now,
    log: makeSilentLogger(),
    everyMs: 5,
  } as unknown as FinishDeps
  const finishing = startFinishingPurchases(deps)
  await until(() => lookedUp.size === orders.length, 'every order is looked at')
  await finishing.stop()
})
