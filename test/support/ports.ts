import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** Below what systems give to connections that go out: one of those may take a free port at any moment. */
const PORTS = { from: 10_000, below: 30_000 } as const
const TRIES = 100

/** The first of `count` ports side by side that were free a moment ago. */
const findFreePorts = async (count: number): Promise<number> => {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const first = randomInt(PORTS.from, PORTS.below)
    const row = Array.from({ length: count }, (_, index) => first + index)
    if ((await Promise.all(row.map(isFree))).every(Boolean)) return first
  }
  throw new Error('no free port')
}

/** A port that was free a moment ago, and the two after it. */
export const freePort = (): Promise<number> => findFreePorts(3)

/** Ports that were free a moment ago, no two the same. */
export const freePorts = async (count: number): Promise<readonly number[]> => {
  const first = await findFreePorts(count)
  return Array.from({ length: count }, (_, index) => first + index)
}
