import java.util.*;

/** Prints in which order a JDK's HashMap hands out keys that fall into few buckets: way, keys as inserted, order. */
public class Orders {
    public static void main(String[] args) {
        System.out.println("# java " + System.getProperty("java.version") + "; made by Orders.java");
        Random random = new Random(7);
        for (int n = 0; n < 60; n++) {
            int size = 5 + random.nextInt(n < 50 ? 60 : 400);
            int buckets = 1 + random.nextInt(4);
            int stride = 64 << random.nextInt(5);
            List<Long> keys = new ArrayList<>();
            Set<Long> seen = new HashSet<>();
            while (keys.size() < size) {
                long key = (long) random.nextInt(buckets) + (long) stride * random.nextInt(4 * size);
                if (random.nextInt(6) == 0) key += ((long) random.nextInt(1 << 20)) << 32;
                if (random.nextInt(10) == 0) key = random.nextInt(1 << 16);
                if (seen.add(key)) keys.add(key);
            }
            Map<Long, Integer> put = new HashMap<>();
            for (Long key : keys) put.put(key, 0);
            System.out.println("put " + join(keys) + " " + join(put.keySet()));
            Map<Long, Integer> computed = new HashMap<>();
            for (Long key : keys) computed.computeIfAbsent(key, k -> 0);
            System.out.println("compute " + join(keys) + " " + join(computed.keySet()));
        }
        // Three quarters of the keys are put, the map is cleared, the others are put.
        for (int n = 0; n < 40; n++) {
            int size = 4 * (5 + random.nextInt(n < 20 ? 40 : 300));
            List<Long> keys = new ArrayList<>();
            for (int i = 0; i < size; i++) keys.add((long) n + i * (1 + n % 3));
            Collections.shuffle(keys, random);
            int kept = 1 + random.nextInt(size / 4);
            keys = keys.subList(0, 4 * kept);
            Map<Long, Integer> map = new HashMap<>();
            List<Long> before = keys.subList(0, 3 * kept), after = keys.subList(3 * kept, 4 * kept);
            for (Long key : before) map.put(key, 0);
            map.clear();
            for (Long key : after) map.put(key, 0);
            System.out.println("cleared " + join(keys) + " " + join(map.keySet()));
        }
    }

    static String join(Collection<Long> keys) {
        StringJoiner joiner = new StringJoiner(",");
        for (Long key : keys) joiner.add(key.toString());
        return joiner.toString();
    }
}
