import { workerData } from 'node:worker_threads'

/** Work of the threads' own test: doubles a number, throws for 0, ends its thread for a negative one. */
export const work = (value: number): number => {
  if (value < 0) process.exit(7)
  if (value === 0) throw new RangeError('nothing to double')
  return value * workerData.factor
}
