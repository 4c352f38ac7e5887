import { type Context, ponder } from 'ponder:registry'
import { balance, reserves, swap, transfer } from 'ponder:schema'
import { type Address, zeroAddress } from 'viem'
import { readPlan } from '../plan.ts'

const quoteFirst = new Map(readPlan().pairs.map(({ pair, isQuoteFirst }) => [pair, isQuoteFirst]))

const low = (address: Address): Address => address.toLowerCase() as Address

/** Adds to what an owner holds; the zero address holds nothing. */
const add = async ({ db }: Context, token: Address, owner: Address, change: bigint) => {
  if (owner === zeroAddress) return
  await db
    .insert(balance)
    .values({ token, owner, amount: change })
    .onConflictDoUpdate((row) => ({ amount: row.amount + change }))
}

ponder.on('Token:Transfer', async ({ event, context }) => {
  const { from, to, value } = event.args
  const token = event.log.address
  await context.db.insert(transfer).values({
    id: event.id,
    block: event.block.number,
    timestamp: event.block.timestamp,
    transaction: event.transaction.hash,
    token,
    from,
    to,
    amount: value,
  })
  await add(context, token, from, -value)
  await add(context, token, to, value)
})

ponder.on('Pair:Swap', async ({ event, context }) => {
  const { to, amount0In, amount1In, amount0Out, amount1Out } = event.args
  const pair = event.log.address
  const [moved0, moved1] = [Number(amount0In + amount0Out), Number(amount1In + amount1Out)]
  await context.db.insert(swap).values({
    id: event.id,
    block: event.block.number,
    logIndex: event.log.logIndex,
    timestamp: event.block.timestamp,
    transaction: event.transaction.hash,
    pair,
    to,
    amount0In,
    amount1In,
    amount0Out,
    amount1Out,
    price: quoteFirst.get(low(pair)) ? moved0 / moved1 : moved1 / moved0,
  })
})

ponder.on('Pair:Sync', async ({ event, context }) => {
  const now = { block: event.block.number, ...event.args }
  await context.db
    .insert(reserves)
    .values({ pair: event.log.address, ...now })
    .onConflictDoUpdate(now)
})
