// Runs trigger patterns through Flink CEP's own NFA, without a Flink runtime: state lies in hash maps, keys are told
// apart as keyBy does, and time advances before each event as CepOperator does in event time.
//
//   java -cp 'lib/*' FlinkCep.java < cases > results      (flink_cep.py writes the one and reads the other)
//
// Input lines: "S" TAB events, a stream for the cases that follow; an event is event,page,x,who,instance,session,ts.
//              "C" TAB skip TAB window TAB scope TAB steps TAB end, a case; steps are separated by ';', each is
//              contiguity TAG quantifier TAG gap TAG atoms TAG excluded, with TAG a space.
// Output, a line per case: matches as "end:start:emitted", end and start positions of a match's last and first event,
// emitted the position of the event that was being processed (or -time for matches that a passing of time gave).
import java.io.*;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.cep.configuration.SharedBufferCacheConfig;
import org.apache.flink.cep.nfa.*;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.nfa.sharedbuffer.*;
import org.apache.flink.cep.pattern.*;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;

public class FlinkCep {
  record Event(String event, String page, Integer x, String who, String instance, String session, long ts) {}

  static Event[] stream;

  record Atom(String event, String page, String op, int value, boolean not) implements Serializable {
    boolean accepts(Event e) {
      if (!event.equals("*") && !event.equals(e.event)) return false;
      if (!page.equals("*") && !page.equals(e.page)) return false;
      return op.isEmpty() || compare(e) != not;
    }

    boolean compare(Event e) {
      if (e.x == null) return false;
      return switch (op) {
        case "==" -> e.x == value;
        case "!=" -> e.x != value;
        case "<" -> e.x < value;
        case "<=" -> e.x <= value;
        case ">" -> e.x > value;
        default -> e.x >= value;
      };
    }
  }

  static class AnyOf extends SimpleCondition<Integer> {
    final ArrayList<Atom> atoms, excluded;

    AnyOf(String atoms, String excluded) {
      this.atoms = parse(atoms);
      this.excluded = parse(excluded);
    }

    static ArrayList<Atom> parse(String text) {
      ArrayList<Atom> out = new ArrayList<>();
      if (text.equals("-")) return out;
      for (String a : text.split("\\|")) {
        String[] f = a.split(",", -1);
        out.add(new Atom(f[0], f[1], f[2], f[3].isEmpty() ? 0 : Integer.parseInt(f[3]), f[4].equals("not")));
      }
      return out;
    }

    @Override
    public boolean filter(Integer at) {
      Event e = stream[at];
      return atoms.stream().anyMatch(a -> a.accepts(e)) && excluded.stream().noneMatch(a -> a.accepts(e));
    }
  }

  static class MemoryMap<K, V> implements MapState<K, V> {
    final HashMap<K, V> map = new HashMap<>();
    public V get(K k) { return map.get(k); }
    public void put(K k, V v) { map.put(k, v); }
    public void putAll(Map<K, V> m) { map.putAll(m); }
    public void remove(K k) { map.remove(k); }
    public boolean contains(K k) { return map.containsKey(k); }
    public Iterable<Map.Entry<K, V>> entries() { return map.entrySet(); }
    public Iterable<K> keys() { return map.keySet(); }
    public Iterable<V> values() { return map.values(); }
    public Iterator<Map.Entry<K, V>> iterator() { return map.entrySet().iterator(); }
    public boolean isEmpty() { return map.isEmpty(); }
    public void clear() { map.clear(); }
  }

  static KeyedStateStore memory() {
    return (KeyedStateStore)
        Proxy.newProxyInstance(
            FlinkCep.class.getClassLoader(),
            new Class<?>[] {KeyedStateStore.class},
            (self, method, args) -> {
              if (method.getName().equals("getMapState")) return new MemoryMap<Object, Object>();
              throw new UnsupportedOperationException(method.toString());
            });
  }

  static Pattern<Integer, Integer> pattern(String steps, long window, AfterMatchSkipStrategy skip) {
    Pattern<Integer, Integer> p = null;
    int n = 0;
    for (String step : steps.split(";")) {
      String[] f = step.split(" ");
      String name = "s" + n++;
      p = switch (f[0]) {
        case "begin" -> Pattern.<Integer>begin(name, skip);
        case "next" -> p.next(name);
        case "any" -> p.followedByAny(name);
        case "follow" -> p.followedBy(name);
        case "not" -> p.notFollowedBy(name);
        default -> throw new IllegalArgumentException(step);
      };
      p = p.where(new AnyOf(f[3], f[4]));
      String q = f[1];
      boolean optional = q.endsWith("?");
      if (optional) q = q.substring(0, q.length() - 1);
      if (q.equals("+")) p = p.oneOrMore().allowCombinations();
      else if (!q.equals("1")) p = p.times(Integer.parseInt(q)).allowCombinations();
      if (optional) p = p.optional();
      long gap = Long.parseLong(f[2]);
      if (gap > 0) p = p.within(Duration.ofMillis(gap), WithinType.PREVIOUS_AND_CURRENT);
    }
    return window > 0 ? p.within(Duration.ofMillis(window)) : p;
  }

  static String key(Event e, String scope) {
    return switch (scope) {
      case "session" -> e.session;
      case "page" -> e.instance.equals("0") ? null : e.instance;
      case "by" -> e.who.isEmpty() ? null : e.who;
      default -> "";
    };
  }

  static class Keyed {
    final SharedBuffer<Integer> buffer =
        new SharedBuffer<>(memory(), IntSerializer.INSTANCE, new SharedBufferCacheConfig(100_000, 100_000, Duration.ofDays(1)));
    final NFAState state;

    Keyed(NFA<Integer> nfa) {
      state = nfa.createInitialNFAState();
    }
  }

  static String run(String[] f) throws Exception {
    AfterMatchSkipStrategy skip = f[1].equals("every") ? AfterMatchSkipStrategy.noSkip() : AfterMatchSkipStrategy.skipPastLastEvent();
    NFA<Integer> nfa = NFACompiler.compileFactory(pattern(f[4], Long.parseLong(f[2]), skip), false).createNFA();
    TreeMap<String, Keyed> keys = new TreeMap<>();
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < stream.length; ++i) {
      Event e = stream[i];
      advance(nfa, keys, e.ts, skip, out);
      String key = key(e, f[3]);
      if (key == null) continue;
      Keyed k = keys.computeIfAbsent(key, x -> new Keyed(nfa));
      try (SharedBufferAccessor<Integer> a = k.buffer.getAccessor()) {
        print(nfa.process(a, k.state, i, e.ts, skip, () -> 0L), i, out);
      }
    }
    advance(nfa, keys, Long.parseLong(f[5]), skip, out);
    for (Keyed k : keys.values()) k.buffer.releaseCacheStatisticsTimer();
    return out.toString();
  }

  static void advance(NFA<Integer> nfa, TreeMap<String, Keyed> keys, long ts, AfterMatchSkipStrategy skip, StringBuilder out)
      throws Exception {
    for (Keyed k : keys.values())
      try (SharedBufferAccessor<Integer> a = k.buffer.getAccessor()) {
        print(nfa.advanceTime(a, k.state, ts, skip).f0, -ts, out);
      }
  }

  static void print(Collection<Map<String, List<Integer>>> matches, long emitted, StringBuilder out) {
    for (Map<String, List<Integer>> m : matches) {
      int first = Integer.MAX_VALUE, last = -1;
      for (List<Integer> taken : m.values())
        for (int at : taken) {
          first = Math.min(first, at);
          last = Math.max(last, at);
        }
      out.append(out.isEmpty() ? "" : " ").append(last).append(':').append(first).append(':').append(emitted);
    }
  }

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, "UTF-8");
    for (String line; (line = in.readLine()) != null; ) {
      String[] f = line.split("\t", -1);
      if (f[0].equals("S")) {
        String[] events = f[1].split(" ");
        stream = new Event[events.length];
        for (int i = 0; i < events.length; ++i) {
          String[] v = events[i].split(",", -1);
          stream[i] = new Event(v[0], v[1], v[2].isEmpty() ? null : Integer.valueOf(v[2]), v[3], v[4], v[5], Long.parseLong(v[6]));
        }
        continue;
      }
      try {
        out.println(run(f));
      } catch (MalformedPatternException | UnsupportedOperationException e) {
        out.println("refused: " + e.getMessage());
      }
    }
    out.flush();
  }
}
