// Reads V1 histograms, one a line, with the library that they are for, and prints of each
// digits, lowest and highest value, count, minimum, median, 99th percentile and maximum.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Base64;
import org.HdrHistogram.Histogram;

public class V1 {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(line));
            Histogram one = Histogram.decodeFromCompressedByteBuffer(bytes, 0);
            System.out.println(one.getNumberOfSignificantValueDigits()
                + " " + one.getLowestDiscernibleValue()
                + " " + one.getHighestTrackableValue()
                + " " + one.getTotalCount()
                + " " + one.getMinValue()
                + " " + one.getValueAtPercentile(50.0)
                + " " + one.getValueAtPercentile(99.0)
                + " " + one.getMaxValue());
        }
    }
}
