import type { InFlightTracker } from '../ops/in-flight.ts'
import type { Warehouse } from './client.ts'

/** The same warehouse, with every insert noted as `insert TABLE`. */
export const trackInserts = (warehouse: Warehouse, activity: InFlightTracker): Warehouse => ({
  ...warehouse,
  insert: async (table, rows, options) => {
    const end = activity.begin(`insert ${table}`)
    try {
      await warehouse.insert(table, rows, options)
    } finally {
      end()
    }
  },
})
