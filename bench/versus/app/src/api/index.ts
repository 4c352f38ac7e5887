import { db } from 'ponder:api'
import { balance, swap, transfer } from 'ponder:schema'
import { Hono } from 'hono'
import { and, count, desc, eq } from 'ponder'
import type { Address } from 'viem'

const app = new Hono()

/** How much was found, what `owner` holds of `token`, and the price of the newest swap of `pair`. Addresses in lower case. */
app.get('/found/:token/:owner/:pair', async (context) => {
  const { token, owner, pair } = context.req.param() as Record<'token' | 'owner' | 'pair', Address>
  const [swaps] = await db.select({ count: count() }).from(swap)
  const [transfers] = await db.select({ count: count() }).from(transfer)
  const [held] = await db
    .select()
    .from(balance)
    .where(and(eq(balance.token, token), eq(balance.owner, owner)))
  const [newest] = await db
    .select()
    .from(swap)
    .where(eq(swap.pair, pair))
    .orderBy(desc(swap.block), desc(swap.logIndex))
    .limit(1)
  return context.json({
    swaps: swaps?.count ?? 0,
    transfers: transfers?.count ?? 0,
    balanceRaw: String(held?.amount ?? 0n),
    price: newest?.price ?? null,
  })
})

// biome-ignore lint/style/noDefaultExport: Ponder takes its routes from there.
export { app as default }
