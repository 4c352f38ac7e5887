import { ConnectionClosed, LIVE_CLOSES } from './limits.ts'

/** The operations of one connection by their ids. */
export interface Operations {
  /**
   * Runs an operation until it is over. Where one of the same id was completed and is not over yet, as one that still waits for its
   * plan, it begins after that; where it is completed meanwhile, it does not begin. Rejects with `ConnectionClosed` where the id is
   * in use, and with what `run` rejects with.
   */
  begin(id: string, run: () => Promise<void>): Promise<void>
  /** The client wants no more of the operation of this id. */
  complete(id: string): void
  /** The client is gone: what waits does not begin. */
  completeAll(): void
}

interface Operation {
  completed: boolean
  /** Resolves when it is over, however it ended. */
  over: Promise<void>
}

/** The library knows an operation by its id alone: two of one id at a time would end each other, or leave one that has no id to end it by. */
export const createOperations = (): Operations => {
  const byId = new Map<string, Operation>()
  const runAfter = async (
    before: Operation | undefined,
    operation: Operation,
    run: () => Promise<void>,
  ): Promise<void> => {
    if (before !== undefined) await before.over
    if (!operation.completed) await run()
  }
  return {
    begin: async (id, run) => {
      const before = byId.get(id)
      if (before !== undefined && !before.completed) throw new ConnectionClosed(LIVE_CLOSES.idInUse)
      const operation: Operation = { completed: false, over: Promise.resolve() }
      byId.set(id, operation)
      const running = runAfter(before, operation, run).finally(() => {
        if (byId.get(id) === operation) byId.delete(id)
      })
      // What it rejects with is told to its own caller.
      operation.over = running.catch(() => undefined)
      await running
    },
    complete: (id) => {
      const operation = byId.get(id)
      if (operation !== undefined) operation.completed = true
    },
    completeAll: () => {
      for (const operation of byId.values()) operation.completed = true
    },
  }
}
